"""Judges held against humans: how far each can be trusted, on which responses."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from inspect_ai.log import EvalLog, read_eval_log_sample_summaries
from inspect_ai.scorer import Score

from orbench_inspect.analysis.logs import bound_judge, each_log, newest, score_names
from orbench_inspect.scoring.agreement import Stratum, agree
from orbench_inspect.scoring.words import REFUSALS, SCORED
from orbench_inspect.text_files import edition

PERSON = "second person"
"""The rater of the second human label; its reference is the first, not the label used."""

LEVELS: tuple[tuple[str, ...], ...] = ((), ("side",), ("model",), ("model", "side"))
"""What responses are grouped by: none, each side, each model, each model and side."""


def read_validations(sources: Sequence[str], notes: list[str]) -> pd.DataFrame:
    """Read logs of `judge_validation`.

    Args:
        sources: Directories and log files.
        notes: What a reader must know of the logs is added here.

    Returns:
        One row a response and judge: `judge`, `rubric`, `model`, `side`, `human`, `first`,
        `second` (true for refused), `outcome`, `judged` (true, false or None), `matcher`,
        `tokens`, `cost`. No row if there is no such log.
    """
    every = each_log(sources, notes)
    logs = [log for log in every if "orbench_validation" in (log.eval.metadata or {})]
    frame = pd.DataFrame([row for log in newest(logs, notes) for row in _rows(log)])
    # Validated again, or in several epochs, a response counts once, as last judged.
    return frame if frame.empty else frame.drop_duplicates(["judge", "rubric", "id"], keep="last")


def judge_table(judged: pd.DataFrame, levels: Sequence[Sequence[str]] = LEVELS) -> pd.DataFrame:
    """Agreement of every judge, of the matcher, and of a second person with the labels.

    Args:
        judged: Rows of `read_validations`, or of hand labels joined with a study. There, the
            columns `drawn_verdict`, `drawn_by` and `weight` say how rows were drawn for labelling.
        levels: Names of columns to group by, each level by itself.

    Returns:
        One row a group and rater: the columns of the level (empty where not grouped by),
        `rater`, `rubric`, `n`, `unusable`, each measure with `_lower` and `_upper`, the four
        counts, and for judges `tokens` and `cost` a verdict.
    """
    rows = []
    named = sorted({name for level in levels for name in level})
    for level in levels:
        groups = judged.groupby(list(level), sort=True) if level else [((), judged)]
        for key, group in groups:
            place = {**dict.fromkeys(named, ""), **dict(zip(level, key, strict=True))}
            rows += [{**place, **row} for row in _raters(group)]
    return pd.DataFrame(rows)


def _raters(group: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (judge, rubric), rows in group.groupby(["judge", "rubric"], sort=True):
        verdicts = int(rows["judged"].notna().sum())
        costs = rows["cost"].dropna()
        yield {
            "rater": judge,
            "rubric": rubric,
            **_agreement(rows, "human", "judged", f"{judge} {rubric}".strip()),
            "tokens": rows["tokens"].sum() / verdicts if verdicts else None,
            "cost": costs.sum() / verdicts if verdicts and len(costs) else None,
        }
    once = group.drop_duplicates("id")
    yield {"rater": "matcher", "rubric": "", **_agreement(once, "human", "matcher", "")}
    if once["second"].notna().any():
        doubly = once[once["second"].notna()]
        yield {"rater": PERSON, "rubric": "", **_agreement(doubly, "first", "second", "")}


def _agreement(rows: pd.DataFrame, reference: str, rater: str, name: str) -> dict[str, Any]:
    usable = rows.dropna(subset=[reference, rater])
    told: dict[str, Any] = {"n": len(usable), "unusable": len(rows) - len(usable)}
    told |= dict(zip(_COUNTS, Stratum.of(_pairs(usable, reference, rater)).counts, strict=True))
    found = agree(list(_strata(usable, reference, rater, name)))
    for measure, (value, lower, upper) in found.items():
        told |= {measure: value, f"{measure}_lower": lower, f"{measure}_upper": upper}
    return told


_COUNTS = ("refused_refused", "refused_answered", "answered_refused", "answered_answered")


def _strata(rows: pd.DataFrame, reference: str, rater: str, name: str) -> Iterator[Stratum]:
    """All rows alike; or, where they were drawn, by what the judge they were drawn by had said."""
    if "drawn_verdict" not in rows:
        yield Stratum.of(_pairs(rows, reference, rater))
        return
    for _, drawn in rows.groupby("drawn_verdict", sort=True):
        first = drawn.iloc[0]
        fixed = bool(first[rater]) if first["drawn_by"] == name else None
        yield Stratum.weighted(_pairs(drawn, reference, rater), drawn["weight"].tolist(), fixed)


def _pairs(rows: pd.DataFrame, reference: str, rater: str) -> list[tuple[bool, bool]]:
    return [(bool(a), bool(b)) for a, b in zip(rows[reference], rows[rater], strict=True)]


def _rows(log: EvalLog) -> Iterator[dict[str, Any]]:
    ours = (log.eval.metadata or {})["orbench_validation"]
    summaries = read_eval_log_sample_summaries(log.location)
    for name in score_names(summaries):
        for summary in summaries:
            scores = summary.scores or {}
            meta = summary.metadata
            yield {
                "id": str(summary.id),
                "model": str(meta.get("model", "")),
                "side": str(meta.get("side", "")),
                "human": meta["human_refused"],
                "first": meta.get("first_refused"),
                "second": meta.get("second_refused"),
                "matcher": _matched(scores.get("matcher")),
                **_judged(scores.get(name), log, ours["judge_prompt_sha256"]),
            }


def _judged(score: Score | None, log: EvalLog, prompt_sha256: str | None) -> dict[str, Any]:
    """What a judge said in a score, and what it cost."""
    meta = (score.metadata or {}) if score is not None else {}
    outcome = score.answer if score is not None else None
    sha = meta.get("judge_prompt_sha256") or prompt_sha256
    return {
        "judge": str(meta.get("judge") or bound_judge(log) or "unknown"),
        "rubric": edition(meta.get("judge_prompt") or "unknown", sha),
        "outcome": outcome or "model_error",
        "judged": outcome in REFUSALS if outcome in SCORED else None,
        "route": str(meta.get("route", "")),
        "tokens": meta.get("judge_tokens") or 0,
        "cost": meta.get("judge_cost"),
    }


def _matched(score: Score | None) -> bool | None:
    answer = score.answer if score is not None else None
    return {"refused": True, "answered": False}.get(str(answer))
