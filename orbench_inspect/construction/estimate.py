"""What a construction will ask for: calls, tokens and cost, before anything is spent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from inspect_ai.model import ModelCost

from orbench_inspect.construction.config import Config
from orbench_inspect.construction.generating import generator_prompt
from orbench_inspect.construction.moderate import moderator_prompt
from orbench_inspect.construction.trail import STAGES, log_folder, newest_log, shards
from orbench_inspect.prices import ANSWER_TOKENS, CHARACTERS_A_TOKEN, LABEL_TOKENS, dollars
from orbench_inspect.prompt_sets.provenance import PROVENANCE
from orbench_inspect.scoring.judge import load_judge_prompt

TOXIC_SHARE = 0.25
"""Assumed share of rewrites that are voted toxic at first."""
SAFE_SHARE = 0.8
"""Assumed share of rewrites that are safe in the end: 80,000 of 100,000 in the paper."""
REQUEST_TOKENS = 30
"""Assumed tokens of a seed or rewrite."""


@dataclass(frozen=True)
class Calls:
    """The calls of one model in one stage."""

    stage: str
    role: str
    model: str
    calls: int
    left: int
    """Calls not made yet."""
    input_tokens: int
    """Of one call."""
    output_tokens: int
    """Of one call."""

    def cost(self, prices: Mapping[str, ModelCost]) -> float | None:
        """Dollars for the calls that are left; None where the model has no price."""
        spent = (self.left * tokens for tokens in (self.input_tokens, self.output_tokens))
        return dollars(prices, self.model, *spent)


def estimate(config: Config) -> list[Calls]:
    """The calls of each stage and model; re-asks and retries not counted."""
    out = Path(config.out)
    finished = {stage: _samples_finished(out, stage) for stage in STAGES}
    begun = [stage for stage in STAGES if shards(out, stage)]
    written = (out / PROVENANCE).is_file()
    rows = []
    for stage, role, model, samples, tokens_in, tokens_out in _planned(config):
        times = len(config.models.selectors) if role == "grader" else 1
        over = written or any(STAGES.index(later) > STAGES.index(stage) for later in begun)
        left = 0 if over else max(0, samples - finished[stage])
        rows.append(Calls(stage, role, model, samples * times, left * times, tokens_in, tokens_out))
    return rows


def _planned(config: Config) -> Iterator[tuple[str, str, str, int, int, int]]:
    """Stage, role, model, samples, and tokens of a call; the grader is asked for each selector."""
    models, made = config.models, config.seeds
    per_call, per_seed = made.per_call, config.rewrites.per_seed
    categories = len(config.categories)
    seeds = categories * made.per_category
    rewrites = seeds * per_seed
    seed_calls = categories * ceil(made.per_category / per_call)
    generator = models.generator.model
    ask, reply = _tokens(generator_prompt(config, "seeds")), per_call * REQUEST_TOKENS
    yield "seeds", "generator", generator, seed_calls, ask + REQUEST_TOKENS, reply
    ask, reply = _tokens(generator_prompt(config, "rewrite")), per_seed * REQUEST_TOKENS
    yield "rewrite", "generator", generator, seeds, ask + 2 * REQUEST_TOKENS, reply

    voted = rewrites + categories * min(config.toxic.seeds_per_category, made.per_category)
    ask = _tokens(moderator_prompt(config, "moderate")) + 2 * REQUEST_TOKENS
    for spec in models.moderators:
        yield "moderate", "moderator", spec.model, voted, ask, LABEL_TOKENS

    toxic = round(TOXIC_SHARE * rewrites)
    answer = min(ANSWER_TOKENS, config.second_chance.max_tokens)
    yield "second_chance", "answerer", models.answerer.model, toxic, REQUEST_TOKENS, answer
    ask = _tokens(moderator_prompt(config, "moderate_answer")) + 3 * REQUEST_TOKENS + answer
    for spec in models.moderators:
        yield "second_chance", "moderator", spec.model, toxic, ask, LABEL_TOKENS

    asked = min(round(SAFE_SHARE * rewrites), config.hard.candidates or rewrites)
    answer = min(ANSWER_TOKENS, config.hard.max_tokens)
    for spec in models.selectors:
        yield "select_hard", "selector", spec.model, asked, REQUEST_TOKENS, answer
    for spec in config.roles["grader"]:
        ask = _tokens(load_judge_prompt(config.hard.judge_prompt).text)
        tokens = ask + 3 * REQUEST_TOKENS + answer
        yield "select_hard", "grader", spec.model, asked, tokens, LABEL_TOKENS


def _tokens(text: str) -> int:
    return ceil(len(text) / CHARACTERS_A_TOKEN)


def _samples_finished(out: Path, stage: str) -> int:
    headers = (newest_log(log_folder(out, stage, shard)) for shard in shards(out, stage))
    return sum(h.results.completed_samples for h in headers if h is not None and h.results)
