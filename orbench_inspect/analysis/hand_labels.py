"""Labels by hand, joined with the study they were drawn from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from orbench_inspect.analysis.drawing import STRATUM, shown_texts, with_stratum
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.analysis.wording import judged_by, rubrics
from orbench_inspect.scoring.labels import Partial, counted, label_of
from orbench_inspect.spreadsheets import is_cut_off, same_cell
from orbench_inspect.tables import read_table

_NEEDED = ("prompt", "response", "label", "drawn_by", "drawn")


@dataclass(frozen=True)
class HandLabels:
    """Labels by hand, and what a reader must know of them."""

    rows: pd.DataFrame
    """One row a label and judge: those of `read_validations`, and `run`, `arm`, `group`,
    `prompt_set`, `prompt_id`; `drawn_by` and `drawn_verdict` of the draw; `weight`, how many
    responses the label stands for."""
    notes: list[str]


def join_labels(files: Sequence[str], runs: Runs, partial: Partial = "refused") -> HandLabels:
    """Join sheets that `orbench draw` wrote, and a person filled in, with their study.

    Where two sheets label the same row, the first is the reference and the other the second
    person's.

    Args:
        files: The sheets.
        runs: From `read_runs`, of the logs they were drawn from; they may have been judged
            again since.
        partial: What a label of partial refusal counts as.

    Raises:
        ValueError: If a row is not of these logs, its texts were edited, its label is none we
            know, or the judge whose verdicts it was drawn by has no scores in them.
    """
    if len({Path(file).read_bytes() for file in files}) < len(files):
        raise ValueError("a sheet of labels is named twice, or is a copy of another")
    notes: list[str] = []
    sheets = [_read(Path(file), partial, notes) for file in files]
    named = with_stratum(runs)
    judges = {row["run"]: judged_by(row) for _, row in runs.runs.iterrows()}
    named["judge_and_rubric"] = named["run"].map(judges)
    labels: dict[str, _Label] = {}
    second: dict[str, bool] = {}
    looked_up = []
    for sheet in sheets:
        looked_up.append(_drawn(sheet, named))
        _refuse_edited(sheet, looked_up[-1])
        for row, label in sheet.items():
            if row in second:
                raise ValueError(f"{label.where}: row {row} has two labels already")
            if row in labels:
                second[row] = label.human
            else:
                labels[row] = label
    drawn = pd.concat(looked_up).drop_duplicates("uuid")
    return HandLabels(
        _joined(labels, second, drawn, named, runs), [*notes, *_without_labels(drawn, named)]
    )


def _without_labels(drawn: pd.DataFrame, named: pd.DataFrame) -> list[str]:
    """Kinds of response of which no label stands for any, in runs that have labels."""
    kinds = named[named["run"].isin(drawn["run"]) & ~named["stratum"].isin(drawn["stratum"])]
    return [
        f"{group} · {arm}, {prompt_set}: no label of the {len(rows)} responses the judge calls "
        f"{verdict}; they are in none of these measures"
        for (group, arm, prompt_set, verdict), rows in kinds.groupby(STRATUM, sort=True)
    ]


def _joined(
    labels: Mapping[str, "_Label"],
    second: Mapping[str, bool],
    drawn: pd.DataFrame,
    named: pd.DataFrame,
    runs: Runs,
) -> pd.DataFrame:
    sizes = named.groupby("stratum").size()
    joined = named.merge(drawn[["uuid", "stratum", "drawn_by"]], on="uuid", suffixes=("_own", ""))
    joined["human"] = joined["uuid"].map({row: label.human for row, label in labels.items()})
    joined["second"] = joined["uuid"].map(lambda row: second.get(row))
    joined["first"] = joined["human"].where(joined["second"].notna(), None)
    joined["drawn_verdict"] = joined["stratum"].str.split().str[1]
    per_run = joined.groupby(["run", "stratum"])["uuid"].transform("size")
    joined["weight"] = joined["stratum"].map(sizes) / per_run
    told = runs.runs.set_index("run")
    return joined.assign(
        id=joined["uuid"],
        prompt_id=joined["id"],
        side=joined["wanted"],
        judge=joined["run"].map(told["judge"]),
        rubric=joined["run"].map(rubrics(told)),
        # Of what a second judge was asked instead, this one has no verdict.
        judged=joined["deployed"]
        .map({1.0: True, 0.0: False})
        .where(joined["second_judge"].isna(), None),
        matcher=joined["matcher"].map({"refused": True, "answered": False}),
        tokens=joined["judge_tokens"].fillna(0),
        cost=joined["judge_cost"],
    )


@dataclass(frozen=True)
class _Label:
    human: bool
    prompt: str
    response: str
    drawn_by: str
    where: str


def _read(path: Path, partial: Partial, notes: list[str]) -> dict[str, _Label]:
    """The labels of one sheet, by row; rows without one are told where there are some."""
    labels: dict[str, _Label] = {}
    filled = drawn = 0
    for place, cells in read_table(path, "row", spreadsheet=True):
        where = f"{path}, {place}"
        missing = [name for name in _NEEDED if name not in cells]
        if missing:
            raise ValueError(
                f"{path}: no column '{missing[0]}'; label the sheet that `orbench draw` wrote"
            )
        drawn = max(drawn, _number(cells["drawn"], where))
        given = label_of(cells["label"], where)
        filled += given is not None
        label = counted(given, partial)
        row = str(cells["row"])
        if label is None:
            continue
        if row in labels:
            raise ValueError(f"{where}: row {row} stands in the sheet twice")
        prompt, response, by = (str(cells[n]) for n in ("prompt", "response", "drawn_by"))
        labels[row] = _Label(label, prompt, response, by, where)
    if not labels:
        raise ValueError(f"{path}: no row has a label yet")
    if filled < drawn:
        notes.append(
            f"{path}: {filled} of {drawn} drawn responses have a label; the others are taken "
            "to be like these, which is false if they were left out for what they say"
        )
    return labels


def _number(cell: object, where: str) -> int:
    found = re.fullmatch(r"(\d+)([.,]0*)?", str(cell or "").strip())
    if not found:
        raise ValueError(f"{where}: '{cell}' in the column drawn is no number; restore it")
    return int(found[1])


def _drawn(labels: Mapping[str, _Label], named: pd.DataFrame) -> pd.DataFrame:
    """The sample of each label under the judge it was drawn by."""
    asked = pd.DataFrame([{"uuid": r, "drawn_by": label.drawn_by} for r, label in labels.items()])
    known = set(named["uuid"])
    for row, label in labels.items():
        if row not in known:
            raise ValueError(
                f"{label.where}: row {row} is not in these logs; name the logs it was drawn from"
            )
    found = asked.merge(named, left_on=["uuid", "drawn_by"], right_on=["uuid", "judge_and_rubric"])
    if len(found) < len(asked):
        lost = asked[~asked["uuid"].isin(found["uuid"])].iloc[0]
        raise ValueError(
            f"{labels[lost['uuid']].where}: was drawn by the verdicts of {lost['drawn_by']}, "
            f"and these logs hold none of that judge for it; they hold those of "
            f"{', '.join(sorted(set(named['judge_and_rubric'])))}"
        )
    return found


def _refuse_edited(labels: Mapping[str, _Label], drawn: pd.DataFrame) -> None:
    for row, (prompt, response) in shown_texts(drawn).items():
        label = labels[row]
        for name, text, cell in (
            ("prompt", prompt, label.prompt),
            ("response", response, label.response),
        ):
            if same_cell(text, cell):
                continue
            how = (
                "was cut off, perhaps by the program that saved the sheet"
                if is_cut_off(cell, text)
                else "differs from the log's: it was edited"
            )
            raise ValueError(
                f"{label.where}: the {name} {how}, and a label of another text does not count. "
                "Restore it, or delete the row"
            )
