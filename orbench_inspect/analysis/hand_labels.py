"""Labels by hand, joined with the study they were drawn from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from orbench_inspect.analysis.arms import rubric_of
from orbench_inspect.analysis.drawing import (
    prompt_and_response,
    read_sample,
    with_stratum,
)
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.analysis.wording import judged_by
from orbench_inspect.scoring.labels import Partial, counted, label_of
from orbench_inspect.spreadsheets import same_cell
from orbench_inspect.tables import read_table

_NEEDED = ("row", "prompt", "response", "label", "drawn_by")


def join_labels(files: Iterable[str], runs: Runs, partial: Partial = "refused") -> pd.DataFrame:
    """Join sheets that `orbench draw` wrote, and a person filled in, with their study.

    Where two sheets label the same row, the first is the reference and the other the second
    person's.

    Args:
        files: The sheets.
        runs: From `read_runs`, of the logs they were drawn from; they may have been judged
            again since.
        partial: What a label of partial refusal counts as.

    Returns:
        One row a label and judge: those of `read_validations`, and `run`, `arm`, `group`,
        `prompt_set`; `drawn_by` and `drawn_verdict` of the draw; `weight`, how many
        responses the label stands for.

    Raises:
        ValueError: If a row is not of these logs, its texts were edited, its label is none we
            know, or the judge whose verdicts it was drawn by has no scores in them.
    """
    labels = _read(files, partial)
    if not labels:
        raise ValueError(f"{', '.join(files)}: no row has a label yet")
    named = with_stratum(runs)
    judges = {row["run"]: judged_by(row) for _, row in runs.runs.iterrows()}
    named["judge_and_rubric"] = named["run"].map(judges)
    drawn = _drawn(labels, named)
    _refuse_edited(labels, drawn)
    sizes = named.groupby("stratum").size()
    joined = named.merge(drawn[["uuid", "stratum", "drawn_by"]], on="uuid", suffixes=("_own", ""))
    joined["human"] = joined["uuid"].map({row: label["human"] for row, label in labels.items()})
    joined["second"] = joined["uuid"].map({row: label["second"] for row, label in labels.items()})
    joined["first"] = joined["human"].where(joined["second"].notna(), None)
    joined["size"] = joined["stratum"].map(sizes)
    joined["drawn_verdict"] = joined["stratum"].str.split().str[1]
    per_run = joined.groupby(["run", "stratum"])["uuid"].transform("size")
    joined["weight"] = joined["size"] / per_run
    rubrics = dict(zip(runs.runs["run"], rubric_of(runs.runs), strict=True))
    return joined.assign(
        id=joined["uuid"],
        side=joined["wanted"],
        judge=joined["run"].map(runs.runs.set_index("run")["judge"]),
        rubric=joined["run"].map(rubrics),
        judged=joined["deployed"].map({1.0: True, 0.0: False}),
        matcher=joined["matcher"].map({"refused": True, "answered": False}),
        tokens=joined["judge_tokens"].fillna(0),
        cost=joined["judge_cost"],
    )


def _read(files: Iterable[str], partial: Partial) -> dict[str, dict[str, Any]]:
    """Labels by row; a second label of a row stands beside the first."""
    labels: dict[str, dict[str, Any]] = {}
    for file in files:
        path = Path(file)
        for place, cells in read_table(path, "row"):
            where = f"{path}, {place}"
            missing = [name for name in _NEEDED if name not in cells]
            if missing:
                raise ValueError(
                    f"{path}: no column '{missing[0]}'; label the sheet that `orbench draw` wrote"
                )
            label = counted(label_of(cells["label"], where), partial)
            row = str(cells["row"])
            if label is None:
                continue
            if row in labels and labels[row]["path"] == path:
                raise ValueError(f"{where}: row {row} stands in the sheet twice")
            if row in labels:
                labels[row]["second"] = label
            else:
                told = {name: str(cells[name]) for name in ("prompt", "response", "drawn_by")}
                labels[row] = {**told, "human": label, "second": None, "where": where, "path": path}
    return labels


def _drawn(labels: Mapping[str, Mapping[str, Any]], named: pd.DataFrame) -> pd.DataFrame:
    """The sample of each label under the judge it was drawn by."""
    asked = pd.DataFrame(
        [{"uuid": row, "drawn_by": label["drawn_by"]} for row, label in labels.items()]
    )
    known = set(named["uuid"])
    for row, label in labels.items():
        if row not in known:
            raise ValueError(
                f"{label['where']}: row {row} is not in these logs; name the logs it was drawn from"
            )
    found = asked.merge(named, left_on=["uuid", "drawn_by"], right_on=["uuid", "judge_and_rubric"])
    if len(found) < len(asked):
        lost = asked[~asked["uuid"].isin(found["uuid"])].iloc[0]
        raise ValueError(
            f"{labels[lost['uuid']]['where']}: was drawn by the verdicts of {lost['drawn_by']}, "
            f"and these logs hold none of that judge for it; they hold those of "
            f"{', '.join(sorted(set(named['judge_and_rubric'])))}"
        )
    return found


def _refuse_edited(labels: Mapping[str, Mapping[str, Any]], drawn: pd.DataFrame) -> None:
    for _, sample in drawn.iterrows():
        label = labels[sample["uuid"]]
        texts = prompt_and_response(read_sample(sample))
        for name, text in zip(("prompt", "response"), texts, strict=True):
            if not same_cell(text, label[name]):
                raise ValueError(
                    f"{label['where']}: the {name} differs from the log's: it was edited, and a "
                    "label of another text does not count. Restore it, or delete the row"
                )
