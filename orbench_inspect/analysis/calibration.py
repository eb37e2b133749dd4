"""Where what is known of a judge's error comes from: labels by hand, an audit, another data set."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pandas as pd

from orbench_inspect.analysis.correction import (
    ANSWERED,
    BLOCKED,
    KINDS,
    REFUSED,
    RULE_ANSWERED,
    RULE_REFUSED,
    Convert,
    partially_pooled,
    predictive,
)
from orbench_inspect.analysis.drawing import FEWEST
from orbench_inspect.analysis.hand_labels import HandLabels, join_labels
from orbench_inspect.analysis.judges import read_validations
from orbench_inspect.analysis.rates import category_sizes
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.analysis.wording import judged_by
from orbench_inspect.scoring.agreement import DRAWS, Floats
from orbench_inspect.scoring.labels import Partial
from orbench_inspect.scoring.words import REFUSALS, VERDICTS

SMALLEST = 0.2
"""Sensitivity + specificity - 1 below which another data set's validation corrects nothing."""


@dataclass(frozen=True)
class Calibration:
    """What kinds of outcome convert to, run by run."""

    source: str
    """Where it comes from, in words for a table."""
    converts: dict[int, Convert]
    """For each run that can be corrected."""
    labels: dict[int, int] = field(default_factory=dict)
    """Labels used for each run."""
    notes: list[str] = field(default_factory=list)
    """Why other runs are not corrected, and what is assumed."""


Calibrate = Callable[[pd.DataFrame, pd.DataFrame], Calibration]
"""Makes a calibration from the runs that are compared, and all samples."""


def calibrated_by(
    runs: Runs,
    labels: Sequence[str] = (),
    how: str | None = None,
    partial: str | None = None,
    external: str | None = None,
) -> Calibrate | None:
    """What corrects for the judge's error, as the command line asks for it; None if nothing.

    Args:
        runs: From `read_runs`.
        labels: Sheets of `orbench draw`, filled in.
        how: `cells` or `partial`, with labels.
        partial: What a label of partial refusal counts as, with labels.
        external: Log or directory of a validation on other responses.

    Raises:
        ValueError: If the options do not go together, or a sheet or log cannot be used.
    """
    if labels and external:
        raise ValueError(
            "--labels and --external exclude each other: labels of the study are better"
        )
    if not labels and (how or partial):
        raise ValueError("--calibrate and --partial go with --labels SHEET")
    if labels:
        joined = join_labels(labels, runs, cast(Partial, partial or "refused"))
        return functools.partial(from_labels, joined, how=how or "cells")
    if external:
        return functools.partial(from_validation, read_validations(external))
    return None


def from_labels(
    labels: HandLabels, runs: pd.DataFrame, samples: pd.DataFrame, how: str
) -> Calibration:
    """Calibrate by labels of the same study.

    A judge's error differs by model, mitigation and side.

    Args:
        labels: From `join_labels`.
        runs: The runs to correct, named by `arms_of`.
        samples: Their samples.
        how: `cells`, each run by its own labels; or `partial`, the runs of one side partially
            pooled, so that a run with few labels borrows from the others.

    Raises:
        ValueError: If not one run has labels enough.
    """
    cells = [
        _cell(labels.rows, run, samples, verdict)
        for _, run in runs.iterrows()
        for verdict in _SIDES
    ]
    drawn = _each_alone(cells) if how == "cells" else _pooled(cells)
    notes = [*labels.notes]
    notes += [_lack(cell) for cell in cells if (cell.run, cell.verdict) not in drawn]
    converts = {
        run: _convert({verdict: drawn[run, verdict] for verdict in _SIDES})
        for run in runs["run"]
        if all((run, verdict) in drawn for verdict in _SIDES)
    }
    if not converts:
        raise ValueError("too few labels to correct by:\n  " + "\n  ".join(notes))
    used = labels.rows[labels.rows["run"].isin(runs["run"])].groupby("run").size()
    told = {
        "cells": "labels of each arm and set by itself",
        "partial": "labels of the arms of one side, partially pooled",
    }[how]
    return Calibration(told, converts, {int(r): int(n) for r, n in used.items()}, notes)


def from_audit(runs: pd.DataFrame, samples: pd.DataFrame) -> Calibration:
    """Calibrate what a cascade's rules settled by the judge's verdicts on a share of it.

    Where too few were audited to tell, the rules are taken at their word, and a note says so.

    Args:
        runs: The runs.
        samples: Their samples.
    """
    converts, audited, notes = {}, {}, []
    for _, run in runs[runs["scorer"] == "cascade"].iterrows():
        rows = samples[(samples["run"] == run["run"]) & (samples["decided_by"] == "rules")]
        both = rows[rows["audit_outcome"].isin(VERDICTS)]
        judged = both["audit_outcome"].isin(REFUSALS)
        known = {
            kind: draws
            for kind, value in ((RULE_REFUSED, 1.0), (RULE_ANSWERED, 0.0))
            if (draws := _audited(judged[both["deployed"] == value], run, rows, value)) is not None
        }
        enough = len(known) == 2
        if enough:
            converts[int(run["run"])] = _convert(known)
            audited[int(run["run"])] = len(both)
        notes.append(
            f"{run['arm']}, {run['prompt_set']}: rules settled {len(rows)} responses, of which the "
            f"judge audited {len(both)} and differs on "
            f"{int((judged != (both['deployed'] == 1.0)).sum())}; "
            + (
                "rates and differences are as the judge would have them, J, macro rate and "
                "categories as scored"
                if enough
                else "too few to correct by: what the rules settled is taken at its word"
            )
        )
    return Calibration("audit of the rules by the judge", converts, audited, notes)


def _audited(
    judged: "pd.Series[bool]", run: "pd.Series[Any]", settled: pd.DataFrame, value: float
) -> Floats | None:
    """Draws of the share that the judge calls refused of what the rules called one thing."""
    size = int((settled["deployed"] == value).sum())
    if len(judged) < min(FEWEST, size):
        return None
    if len(judged) == size:
        return np.full(DRAWS, float(judged.mean()) if size else value)
    return predictive(float(judged.sum()), len(judged), _stream(run["run"], 10 + int(value)))


def from_validation(judged: pd.DataFrame, runs: pd.DataFrame, samples: pd.DataFrame) -> Calibration:
    """Calibrate by a validation on other responses (Rogan and Gladen, Am. J. Epidemiol. 107, 1978).

    It assumes that the judge has the same sensitivity and specificity here as there, which is
    often false: the error differs by model, mitigation and side.

    Args:
        judged: From `read_validations`.
        runs: The runs to correct.
        samples: Not needed: a judge's error is assumed not to depend on them.

    Raises:
        ValueError: If there is no validation, the judge was not validated under the same
            prompt, on both kinds of response, or does hardly better than chance.
    """
    if judged.empty:
        raise ValueError(
            "--external: no log of `inspect eval orbench_inspect/judge_validation -T labels=FILE`"
        )
    converts, labels, notes = {}, {}, []
    for _, run in runs.iterrows():
        own = judged[judged["judge"] + " " + judged["rubric"] == judged_by(run)]
        if own.empty:
            known = sorted(set(judged["judge"] + " " + judged["rubric"]))
            raise ValueError(
                f"{judged_by(run)} was not validated there; validated: {', '.join(known)}"
            )
        of_side = own[own["side"] == run["wanted"]]
        rows = (of_side if len(of_side) else own).dropna(subset=["judged", "human"])
        where = "of that side" if len(of_side) else "of any side"
        name = f"{run['arm']}, {run['prompt_set']}"
        try:
            converts[int(run["run"])] = _convert(_rogan_gladen(rows, run))
        except ValueError as ex:
            notes.append(f"{name}: not corrected; {ex}")
            continue
        labels[int(run["run"])] = len(rows)
        notes.append(
            f"{name}: corrected as if the judge erred here as on the "
            f"{len(rows)} validated responses {where}: an assumption, not checked"
        )
    if not converts:
        raise ValueError("nothing can be corrected by it:\n  " + "\n  ".join(notes))
    told = "validation on another data set (assumed to hold here)"
    return Calibration(told, converts, labels, notes)


def _rogan_gladen(rows: pd.DataFrame, run: "pd.Series[Any]") -> dict[str, Floats]:
    refused, judged = rows["human"].astype(bool), rows["judged"].astype(bool)
    side = 0 if run["wanted"] == "answer" else 1
    hits, misses = int((refused & judged).sum()), int((refused & ~judged).sum())
    wrong, right = int((~refused & judged).sum()), int((~refused & ~judged).sum())
    if not hits + misses or not wrong + right:
        raise ValueError(
            f"the validation has no {'answered' if hits + misses else 'refused'} responses of "
            f"prompts like those of {run['prompt_set']}: nothing to correct by"
        )
    youden = hits / (hits + misses) + right / (wrong + right) - 1
    # The same streams for all arms of a side: it is one judge, with one error.
    sensitivity = predictive(hits, hits + misses, 1_000_000 + side)
    specificity = predictive(right, wrong + right, 1_000_010 + side)
    drawn = sensitivity + specificity - 1
    if youden < SMALLEST or np.quantile(drawn, 0.025) <= 0:
        raise ValueError(
            f"on responses like those of {run['prompt_set']} the judge's sensitivity + specificity "
            f"- 1 is {youden:.2f} in the validation: too little to correct by"
        )
    drawn = np.maximum(drawn, 1e-3)
    return {REFUSED: specificity / drawn, ANSWERED: -(1 - specificity) / drawn}


@dataclass(frozen=True)
class _Cell:
    run: int
    verdict: str
    side: str
    name: str
    size: int
    labels: int
    refused: float
    """Labels that say refused, in labels of equal weight."""
    effective: float
    """Labels of equal weight that would tell as much (Kish)."""


_SIDES = (REFUSED, ANSWERED)


def _cell(
    labels: pd.DataFrame, run: "pd.Series[Any]", samples: pd.DataFrame, verdict: str
) -> _Cell:
    value = 1.0 if verdict == REFUSED else 0.0
    of_run = samples[(samples["run"] == run["run"]) & (samples["model_only"] == value)]
    rows = labels[(labels["run"] == run["run"]) & (labels["deployed"] == value)]
    weights = rows["weight"].to_numpy(dtype=float)
    if (sizes := category_sizes(run)) is not None:
        # Equal numbers of each category were asked: a label stands for as many as its category.
        asked = samples[samples["run"] == run["run"]]["category"].value_counts()
        weights = weights * rows["category"].map(lambda c: sizes[c] / asked[c]).to_numpy(float)
    effective = float(weights.sum() ** 2 / (weights**2).sum()) if len(rows) else 0.0
    share = float(weights @ rows["human"].to_numpy(dtype=float) / weights.sum()) if len(rows) else 0
    return _Cell(
        run=int(run["run"]),
        verdict=verdict,
        side=str(run["wanted"]),
        name=f"{run['group']} · {run['arm']}, {run['prompt_set']}",
        size=len(of_run),
        labels=len(rows),
        refused=share * effective,
        effective=effective,
    )


def _missing(cell: _Cell) -> int:
    return max(0, min(FEWEST, cell.size) - cell.labels)


def _lack(cell: _Cell) -> str:
    return (
        f"{cell.name}: not corrected; {_missing(cell)} more labels needed of responses the judge "
        f"calls {cell.verdict} ({cell.labels} of at least {min(FEWEST, cell.size)})"
    )


def _each_alone(cells: Sequence[_Cell]) -> dict[tuple[int, str], Floats]:
    return {
        (cell.run, cell.verdict): predictive(
            cell.refused, cell.effective, _stream(cell.run, _SIDES.index(cell.verdict))
        )
        for cell in cells
        if not _missing(cell)
    }


def _pooled(cells: Sequence[_Cell]) -> dict[tuple[int, str], Floats]:
    drawn: dict[tuple[int, str], Floats] = {}
    for stream, alike in enumerate(_alike(cells)):
        if sum(cell.labels for cell in alike) < min(FEWEST, sum(cell.size for cell in alike)):
            continue
        draws = partially_pooled(
            [cell.refused for cell in alike], [cell.effective for cell in alike], 2_000_000 + stream
        )
        drawn |= {(c.run, c.verdict): d for c, d in zip(alike, draws, strict=True)}
    return drawn


def _alike(cells: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    for side in ("answer", "refuse"):
        for verdict in _SIDES:
            yield [cell for cell in cells if (cell.side, cell.verdict) == (side, verdict)]


def _convert(known: dict[str, Floats]) -> Convert:
    """What is not known to err is taken at its word."""
    certain = {kind: np.full(DRAWS, float(kind in _TRUE)) for kind in KINDS}
    return {**certain, **known}


_TRUE = (REFUSED, BLOCKED, RULE_REFUSED)


def _stream(run: int, number: int) -> int:
    return 100 * int(run) + number
