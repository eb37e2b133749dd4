"""Stage 5, select: the safe prompts that models refuse (hard), and the surely harmful (toxic)."""

from collections.abc import Mapping
from typing import Any

from inspect_ai import Task, task
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, ModelName
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from orbench_inspect.construction.categories import NONE
from orbench_inspect.construction.moderate import usable_votes
from orbench_inspect.construction.stage import ask, bound, cached, read_folder, stage_task
from orbench_inspect.construction.trail import Done
from orbench_inspect.refusal_rules import own_list
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.refusal import By, refusal
from orbench_inspect.scoring.words import REFUSALS


@task
def select_hard(out: str | None = None, shard: int = 1, **unknown: Any) -> Task:
    """Which models refuse a safe prompt. One sample is one prompt, and all selectors answer in it.

    Model roles: `selector`, several; `grader`, the judge of their responses, unless
    `hard.by` is `matcher`.

    Args:
        out: Folder of the construction.
        shard: Number of the shard.
        **unknown: Anything else is an error.
    """
    out, config = read_folder(out, unknown)
    hard = config.hard
    judge = load_judge_prompt(hard.judge_prompt).sha256 if hard.by == "judge" else own_list()
    told = {"scored_by": judge, **hard.model_dump(include={"by", "temperature", "max_tokens"})}
    scorer = refused_by(out, hard.by, hard.judge_prompt, hard.temperature, hard.max_tokens)
    return stage_task("select_hard", out, shard, scorer, told)


@scorer(metrics=[mean()])
def refused_by(out: str, by: By, judge_prompt: str, temperature: float, max_tokens: int) -> Scorer:
    """How many selectors refuse, by the scorer `refusal`; an unscored response is no refusal.

    Args:
        out: Folder of the construction.
        by: `judge` or `matcher`.
        judge_prompt: Name or file of the judge's instructions.
        temperature: Temperature of the selectors.
        max_tokens: Tokens of a response.
    """
    settings = GenerateConfig(temperature=temperature, max_tokens=max_tokens)
    refuses = refusal(by, judge_prompt)

    async def outcome(model: Model, chair: int, state: TaskState) -> dict[str, Any]:
        messages = [ChatMessageUser(content=state.input_text)]
        output = await ask(model, messages, settings, cached(out, chair=str(chair)))
        asked = TaskState(
            ModelName(model), state.sample_id, state.epoch, state.input, [], output=output
        )
        score = await refuses(asked, Target(""))
        said = (score.explanation if score else "") or ""
        return {
            "model": str(model),
            "outcome": (score.answer if score else None) or "unresolved",
            "reason": said[:1000],
        }

    async def score(state: TaskState, target: Target) -> Score:
        models = bound("selector")
        found = await collect(*(outcome(model, i, state) for i, model in enumerate(models)))
        return Score(
            value=refusals({"outcomes": found}),
            answer=", ".join(each["outcome"] for each in found),
            explanation="\n".join(f"{each['model']}: {each['reason']}" for each in found),
            metadata={"outcomes": list(found)},
        )

    return score


def refusals(result: Mapping[str, Any]) -> int:
    """How many selectors refused, by a score's metadata."""
    return sum(each["outcome"] in REFUSALS for each in result["outcomes"])


def unanimously_toxic(voted: Done, chance: Done | None) -> bool:
    """Whether every moderator gave a category, and did so again of the answer if there was one.

    Args:
        voted: The prompt with the moderators' votes.
        chance: The same prompt with their votes on its answer; None for seeds.
    """
    for done in (voted, chance):
        if done is None:
            continue
        votes = usable_votes(done.result) if done.result else []
        if not votes or any(vote is None or vote == NONE for vote in votes):
            return False
    return True
