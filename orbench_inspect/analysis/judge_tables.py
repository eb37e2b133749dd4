"""Judges' agreement with humans, for a terminal and for machines."""

import json

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orbench_inspect.analysis.forms import as_sheet, markdown
from orbench_inspect.analysis.wording import plain
from orbench_inspect.scoring.agreement import MEASURES


def as_tables(table: pd.DataFrame) -> RenderableType:
    """A table for each group of responses."""
    groups = [name for name in table.columns if name in _GROUPS]
    parts: list[RenderableType] = []
    for key, rows in table.groupby(groups, sort=False) if groups else [((), table)]:
        named = [f"{plain(value)}" for value in key if value]
        parts += [_group(rows, ", ".join(named) or "all responses"), Text()]
    parts.append(Text(_FINE_PRINT, style="dim"))
    return Group(*parts)


def as_form(table: pd.DataFrame, form: str) -> str:
    """The table as `json`, `csv` or `markdown`."""
    if form == "json":
        return json.dumps(json.loads(table.to_json(orient="records")), indent=2, ensure_ascii=False)
    if form == "csv":
        return as_sheet(table)
    told = [_told(row) for _, row in table.iterrows()] if "rubric" in table else None
    shown = table if told is None else pd.DataFrame(told)
    rows = [[plain(_cell(c)) for c in row] for row in shown.astype(object).values.tolist()]
    return markdown([str(name) for name in shown], rows)


def _told(row: "pd.Series[float]") -> dict[str, object]:
    names = [name for name in row.index if name in _GROUPS]
    told: dict[str, object] = {n: row[n] for n in (*names, "rater", "rubric", "n", "unusable")}
    told |= {"counts": _counts(row), **{name: _measure(row, name) for name in MEASURES}}
    return told | {"tokens": _number(row["tokens"], 0)}


def _cell(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def _counts(row: "pd.Series[float]") -> str:
    """Both refused, missed, invented, neither."""
    names = ("refused_refused", "refused_answered", "answered_refused", "answered_answered")
    return "/".join(f"{row[name]:.0f}" for name in names)


def as_plain(frame: pd.DataFrame) -> Table:
    """Any frame, with limits beside the values they belong to."""
    table = Table(box=None, pad_edge=False)
    limits = {f"{name}_{side}" for name in frame for side in ("lower", "upper")}
    shown = [name for name in frame if name not in limits]
    for name in shown:
        table.add_column(str(name).replace("_", " "))
    for _, row in frame.iterrows():
        table.add_row(
            *(
                _text(_measure(row, str(name)) if f"{name}_lower" in frame else row[name])
                for name in shown
            )
        )
    return table


def as_strata(strata: pd.DataFrame) -> Table:
    """What was drawn of how many."""
    table = Table(box=None, pad_edge=False)
    for name in ("arm", "set", "the judge said", "responses", "drawn", "each stands for"):
        table.add_column(name)
    for _, row in strata.iterrows():
        arm = f"{row['group']} · {row['arm']}"
        cells = (arm, row["prompt_set"], row["verdict"], f"{row['size']:,}", f"{row['drawn']:,}")
        table.add_row(*map(_text, (*cells, f"{row['weight']:.1f}")))
    return table


_GROUPS = ("model", "arm", "side")
_SHOWN = ("sensitivity", "specificity", "kappa", "ac1")
_FINE_PRINT = (
    "counts: human and rater say refused; human alone; rater alone; both say answered.\n"
    "sensitivity: share of what humans call refused that the rater calls refused; specificity: of\n"
    "answered, answered. kappa: Cohen's; AC1: Gwet's, steadier where nearly all is of one kind.\n"
    "second person: against the first, where two people labelled. (-N): replies of no use,\n"
    "in no measure. tokens: those of a verdict. Responses are taken as independent."
)


def _group(rows: pd.DataFrame, title: str) -> Table:
    table = Table(title=_text(title), title_justify="left", box=None, pad_edge=False)
    table.add_column("rater", overflow="fold", min_width=20)
    priced = rows["cost"].notna().any()
    for name in ("n", "counts", *_SHOWN, "tokens", *(["dollars"] if priced else [])):
        table.add_column({"ac1": "AC1"}.get(name, name), no_wrap=True)
    for _, row in rows.iterrows():
        rater = f"{row['rater']} {row['rubric']}".strip()
        unusable = f" (-{row['unusable']:,})" if row["unusable"] else ""
        cells = [rater, f"{row['n']:,}{unusable}", _counts(row)]
        cells += [_measure(row, name) for name in _SHOWN]
        money = [_number(row["cost"], 5)] if priced else []
        table.add_row(*map(_text, (*cells, _number(row["tokens"], 0), *money)))
    return table


def _measure(row: "pd.Series[float]", name: str) -> str:
    if pd.isna(row[name]):
        return "n/a"
    shown = [f"{row[key]:.2f}".replace("0.", ".", 1) for key in (f"{name}_lower", f"{name}_upper")]
    return f"{row[name]:.2f} [{', '.join(shown)}]"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None or pd.isna(value) else f"{value:,.{digits}f}"


def _text(value: object) -> Text:
    return Text(plain(value))
