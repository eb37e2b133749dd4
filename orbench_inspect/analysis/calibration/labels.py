"""Calibration by labels of the same study, alone or partially pooled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orbench_inspect.analysis.calibration.record import Calibration, convert, stream
from orbench_inspect.analysis.correction import ANSWERED, REFUSED, partially_pooled, predictive
from orbench_inspect.analysis.drawing import FEWEST
from orbench_inspect.analysis.hand_labels import HandLabels
from orbench_inspect.analysis.rates import category_sizes
from orbench_inspect.scoring.agreement import Floats


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
        run: convert({verdict: drawn[run, verdict] for verdict in _SIDES})
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
            cell.refused, cell.effective, stream(cell.run, _SIDES.index(cell.verdict))
        )
        for cell in cells
        if not _missing(cell)
    }


def _pooled(cells: Sequence[_Cell]) -> dict[tuple[int, str], Floats]:
    drawn: dict[tuple[int, str], Floats] = {}
    for number, alike in enumerate(_alike(cells)):
        if sum(cell.labels for cell in alike) < min(FEWEST, sum(cell.size for cell in alike)):
            continue
        draws = partially_pooled(
            [cell.refused for cell in alike], [cell.effective for cell in alike], 2_000_000 + number
        )
        drawn |= {(c.run, c.verdict): d for c, d in zip(alike, draws, strict=True)}
    return drawn


def _alike(cells: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    for side in ("answer", "refuse"):
        for verdict in _SIDES:
            yield [cell for cell in cells if (cell.side, cell.verdict) == (side, verdict)]
