"""Judges held against humans: how far each can be trusted, on which responses."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from inspect_ai.log import EvalLog, EvalSampleSummary, read_eval_log_sample_summaries
from inspect_ai.scorer import Score

from orbench_inspect.analysis.logs import bound_judge, each_log, newest, note_gap, score_names
from orbench_inspect.scoring.agreement import Stratum, agree
from orbench_inspect.scoring.validation import settled
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
        `second` (true for refused), `judged` (true, false or None), `matcher`, `tokens`,
        `cost`. A second judge has rows for what it was asked. No row if there is no such log.
    """
    every = each_log(sources, notes)
    logs = [log for log in every if "orbench_validation" in (log.eval.metadata or {})]
    found = []
    for log in newest(logs, notes):
        summaries = read_eval_log_sample_summaries(log.location)
        note_gap(log, len(summaries), notes)
        rows = pd.DataFrame(_rows(log, summaries))
        found.append(rows if rows.empty else _once(rows, notes))
    frame = pd.concat(found) if found else pd.DataFrame()
    # Validated again, a response counts once, as last judged.
    return frame if frame.empty else frame.drop_duplicates(["judge", "rubric", "id"], keep="last")


def _once(rows: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """A row for each response and judge of one log, its epochs settled."""
    keys = ["score", "judge", "rubric", "id"]
    epochs = rows.groupby(keys)["judged"]
    once = rows.drop_duplicates(keys).set_index(keys)
    once["judged"] = epochs.agg(lambda said: settled(list(said))).astype(object)
    once["judged"] = once["judged"].where(once["judged"].notna(), None)
    once["tokens"] = rows.groupby(keys)["tokens"].mean()
    once["cost"] = rows.groupby(keys)["cost"].mean()
    differ = (epochs.nunique() > 1).groupby(["judge", "rubric"]).agg(["sum", "size"])
    notes += [
        f"{judge} {rubric}: contradicts itself on {differing} of {of} responses, between epochs"
        for (judge, rubric), differing, of in differ[differ["sum"] > 0].itertuples()
    ]
    return once.reset_index()


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
            "tokens": rows["tokens"].sum(min_count=1) / verdicts if verdicts else None,
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


def _rows(log: EvalLog, summaries: Sequence[EvalSampleSummary]) -> Iterator[dict[str, Any]]:
    ours = (log.eval.metadata or {})["orbench_validation"]
    for name in score_names(summaries):
        scores = [(summary.scores or {}).get(name) for summary in summaries]
        told = [score.metadata or {} for score in scores if score is not None]
        # Where there was nothing to judge, or no score, it is the judge of the others.
        unasked = next((meta for meta in told if meta.get("judge")), {})
        bound = {
            "judge": unasked.get("judge") or bound_judge(log) or "unknown",
            "judge_prompt": unasked.get("judge_prompt") or ours["judge_prompt"],
            "judge_prompt_sha256": unasked.get("judge_prompt_sha256")
            or ours["judge_prompt_sha256"],
        }
        for summary, score in zip(summaries, scores, strict=True):
            meta = summary.metadata
            row = {
                "score": name,
                "id": str(summary.id),
                "model": str(meta.get("model", "")),
                "side": str(meta.get("side", "")),
                "human": meta["human_refused"],
                "first": meta.get("first_refused"),
                "second": meta.get("second_refused"),
                "matcher": _matched((summary.scores or {}).get("matcher")),
            }
            yield from ({**row, **said} for said in _judged(score, bound))


def _judged(score: Score | None, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a judge said in a score and what it cost; and the second, where it was asked instead."""
    meta = {**bound, **((score.metadata or {}) if score is not None else {})}
    outcome = score.answer if score is not None else None
    judged = outcome in REFUSALS if outcome in SCORED else None
    second = meta.get("second_judge")
    rubric = edition(meta["judge_prompt"], meta["judge_prompt_sha256"])
    cost = {"tokens": meta.get("judge_tokens") or 0, "cost": meta.get("judge_cost")}
    first = None if second else judged
    yield {"judge": str(meta["judge"]), "rubric": rubric, "judged": first, **cost}
    if second:
        # What it took is booked to the first, which needed it.
        yield {"judge": second, "rubric": rubric, "judged": judged, "tokens": None, "cost": None}


def _matched(score: Score | None) -> bool | None:
    answer = score.answer if score is not None else None
    return {"refused": True, "answered": False}.get(str(answer))
