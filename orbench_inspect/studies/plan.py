"""What a study will ask for: calls, tokens, dollars and hours, before anything is spent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from inspect_ai.model import ModelCost

from orbench_inspect.analysis.comparison import MARGIN
from orbench_inspect.as_data import as_data
from orbench_inspect.prices import ANSWER_TOKENS, CHARACTERS_A_TOKEN, LABEL_TOKENS, dollars
from orbench_inspect.scoring.batch import has_batch
from orbench_inspect.scoring.cascade import EXPECTED_SETTLED, audit_share
from orbench_inspect.scoring.refusal import By
from orbench_inspect.studies.pilot import Calls, Observed, Pilot
from orbench_inspect.studies.planned import Planned

WORD_TOKENS = 5
"""Assumed tokens of a reply of one word."""

SCORERS: tuple[By, ...] = ("judge", "cascade", "matcher")


@dataclass(frozen=True)
class Assumed:
    """What is taken for granted where no pilot tells better."""

    response_tokens: int = ANSWER_TOKENS
    """Of a response."""
    grader_tokens: int = LABEL_TOKENS
    """Of a judge's reply."""
    certain: float = EXPECTED_SETTLED
    """Share of responses that certain rules settle (benchmarks/matcher.py)."""
    connections: int = 10
    """Calls at once, of each model: Inspect's default."""
    seconds: float = 5.0
    """Of a call."""
    requests_per_minute: int | None = None
    """Of each model."""
    tokens_per_minute: int | None = None
    """Of each model, in and out."""
    batch_price: float = 0.5
    """Price in batch mode, as a share of the price without."""
    batch_hours: float = 24.0
    """The longest that a batch takes."""
    discordance: float = 0.05
    """Share of prompts on which an arm and the baseline differ."""
    margin: float = MARGIN


def plan_calls(
    tasks: Sequence[Planned],
    assumed: Assumed,
    prices: Mapping[str, ModelCost],
    pilot: Pilot | None = None,
) -> pd.DataFrame:
    """The calls of a study: a row for each task, scorer, role and model that is asked.

    Args:
        tasks: From `planned`.
        assumed: What to take for granted.
        prices: Dollars per million tokens, by model.
        pilot: What was seen, in place of what is assumed, for the arms and sets it holds.

    Returns:
        `model`, `arm`, `prompt_set`, `wanted`, `prompts`, `scorer`, `runs` (whether the script
        scores so), `role`, `asked` (the model; empty for a judge that the script does not name),
        `calls`, `tokens_in`, `tokens_out`, `seconds` (of all calls), `source` (`pilot` or
        `assumed`), and in dollars `cost` and `cost_batch`, nan without a price.
    """
    rows = []
    for task in tasks:
        cell = (task.captured.model, task.composed.sha256, task.prompt_set)
        seen = pilot.observed.get(cell) if pilot else None
        rows += [_priced(row, assumed, prices) for row in _rows(task, assumed, seen)]
    return pd.DataFrame(rows)


def _rows(task: Planned, assumed: Assumed, seen: Observed | None) -> Iterator[dict[str, Any]]:
    shared = {
        "model": task.captured.model,
        "arm": task.arm,
        "prompt_set": task.prompt_set,
        "wanted": task.wanted,
        "prompts": task.captured.samples,
    }
    turns = _turns(task, assumed)
    model = _each(seen.model, seen.samples, assumed) if seen else None
    one = model or {
        "calls": len(turns),
        "tokens_in": sum(characters for characters, _ in turns) / CHARACTERS_A_TOKEN,
        "tokens_out": sum(tokens for _, tokens in turns),
        "seconds": len(turns) * assumed.seconds,
        "source": "assumed",
    }
    response = one["tokens_out"] / one["calls"] if model else assumed.response_tokens
    for scorer in SCORERS:
        named = {**shared, "scorer": scorer, "runs": scorer == task.scorer}
        asked = {"role": "model", "asked": task.captured.model}
        yield {**named, **asked, **_times(one, task.samples)}
        if scorer == "matcher":
            continue
        judged = _judged(task, scorer, assumed, seen) * task.samples
        for judge in task.captured.roles.get("grader", ("",)):
            known = seen.judges.get(judge) if seen else None
            reply = (_each(known, seen.judged, assumed) if seen and known else None) or {
                "calls": 1,
                "tokens_in": _judge_reads(task, response) / CHARACTERS_A_TOKEN,
                "tokens_out": assumed.grader_tokens,
                "seconds": assumed.seconds,
                "source": "assumed",
            }
            yield {**named, "role": "judge", "asked": judge, **_times(reply, judged)}


def _turns(task: Planned, assumed: Assumed) -> list[tuple[float, int]]:
    """Characters sent and tokens received in each call of a sample; the most that are made."""
    mitigation, texts = task.composed.mitigation, task.composed.mitigation.texts
    response = assumed.response_tokens

    def told(text: str | None = None) -> float:
        composed = task.composed if text is None else task.composed.with_system(text)
        sent = sum(len(message["content"]) for message in composed.shown())
        return sent - len("<prompt>") + task.prompt

    if mitigation.method == "smooth":
        return [(told(), response)] * mitigation.copies
    if mitigation.method == "route":
        ask = len(texts["classify"]) + len(as_data(request="")) + task.prompt
        longest = max((texts["harmful"], texts["harmless"]), key=len)
        return [(ask, WORD_TOKENS), (told(longest), response)]
    if mitigation.method == "response_check":
        shown = len(as_data(request="", response="")) + task.prompt + response * CHARACTERS_A_TOKEN
        longest = max((texts["unsafe"], texts["needless"]), key=len)
        review = (len(texts["review"]) + shown, WORD_TOKENS)
        return [(told(), response), review, (told(longest), response)]
    return [(told(), response)]


def _judge_reads(task: Planned, response_tokens: float) -> float:
    """Characters of a question to the judge."""
    frame = len(task.judge_prompt) + len(as_data(question="", response=""))
    return frame + task.prompt + response_tokens * CHARACTERS_A_TOKEN


def _judged(task: Planned, scorer: By, assumed: Assumed, seen: Observed | None) -> float:
    """Share of samples that come before the judge."""
    every = seen.before_judge if seen and seen.scorer == "judge" else 1.0
    if scorer == "judge":
        return every
    certain = seen.certain / seen.samples if seen else assumed.certain
    audit = audit_share(task.selected) if task.audit is None else task.audit
    return max(0.0, every - certain * (1 - audit))


def _each(found: Calls, among: int, assumed: Assumed) -> dict[str, Any] | None:
    """What a sample took in the pilot; None where no usage was reported."""
    if not among or not found.calls or not found.tokens_in + found.tokens_out:
        return None
    seconds = assumed.seconds if found.seconds_a_call is None else found.seconds_a_call
    return {
        "calls": found.calls / among,
        "tokens_in": found.tokens_in / among,
        "tokens_out": found.tokens_out / among,
        "seconds": seconds * found.calls / among,
        "source": "pilot",
    }


def _times(one: dict[str, Any], samples: float) -> dict[str, Any]:
    scaled = {key: one[key] * samples for key in ("calls", "tokens_in", "tokens_out")}
    whole = {key: round(value) for key, value in scaled.items()}
    return {**whole, "seconds": one["seconds"] * samples, "source": one["source"]}


def _priced(
    row: dict[str, Any], assumed: Assumed, prices: Mapping[str, ModelCost]
) -> dict[str, Any]:
    known = dollars(prices, row["asked"], row["tokens_in"], row["tokens_out"])
    cost = float("nan") if known is None else known
    batch = cost * assumed.batch_price if has_batch(row["asked"]) else cost
    return {**row, "cost": cost, "cost_batch": batch}


def totals(calls: pd.DataFrame, by: Sequence[str] = ("scorer",)) -> pd.DataFrame:
    """Sums over the rows of `plan_calls`; dollars are nan where one of them has no price.

    Args:
        calls: From `plan_calls`.
        by: What tells the sums apart; `scorer` should be among it, or rows count thrice.
    """
    rows = []
    for keys, group in calls.groupby([*by], sort=False):
        row = dict(zip(by, keys, strict=True))
        for role in ("model", "judge"):
            of_role = group[group["role"] == role]
            for column in ("calls", "tokens_in", "tokens_out"):
                row[f"{role}_{column}"] = int(of_role[column].sum())
        for column in ("cost", "cost_batch"):
            row[column] = group[column].sum(skipna=False)
        rows.append(row)
    return pd.DataFrame(rows)


def hours(calls: pd.DataFrame, assumed: Assumed) -> pd.DataFrame:
    """How long each model takes under each scorer, and what it waits for.

    Args:
        calls: From `plan_calls`.
        assumed: Limits and seconds of a call.

    Returns:
        `scorer`, `asked`, `hours`, `limit` (the binding one) and hours by each limit. Models
        work at the same time: a study takes as long as the slowest.
    """
    rows = []
    for (scorer, asked), group in calls.groupby(["scorer", "asked"], sort=False):
        limits = {"connections": group["seconds"].sum() / assumed.connections / 3600}
        if assumed.requests_per_minute:
            limits["requests"] = group["calls"].sum() / assumed.requests_per_minute / 60
        if assumed.tokens_per_minute:
            tokens = group["tokens_in"].sum() + group["tokens_out"].sum()
            limits["tokens"] = tokens / assumed.tokens_per_minute / 60
        binding = max(limits, key=lambda name: limits[name])
        found = {"scorer": scorer, "asked": asked, "hours": limits[binding], "limit": binding}
        rows.append({**found, **{f"by_{name}": value for name, value in limits.items()}})
    return pd.DataFrame(rows)


def batch_hours(tasks: Sequence[Planned], scorer: str, assumed: Assumed) -> float | None:
    """The longest a study takes in batch mode, if all its samples are under way at once.

    A sample's calls follow one another, each in a batch of its own. None where no model has a
    batch mode.

    Args:
        tasks: From `planned`.
        scorer: Who names the outcome.
        assumed: Hours of a batch.
    """
    rounds = 0
    for task in tasks:
        depth = {"route": 2, "response_check": 3}.get(task.composed.mitigation.method, 1)
        judges = task.captured.roles.get("grader", ("",)) if scorer != "matcher" else ()
        # A judge that is not named yet may be one that has a batch mode.
        judged = any(not judge or has_batch(judge) for judge in judges)
        own = depth * has_batch(task.captured.model) + judged
        rounds = max(rounds, own)
    return rounds * assumed.batch_hours if rounds else None
