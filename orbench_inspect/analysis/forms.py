"""A comparison for machines and papers."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from orbench_inspect.analysis.comparison import Comparison
from orbench_inspect.analysis.wording import (
    interval,
    judged_by,
    percent,
    plain,
    sets_in_order,
    signed,
)
from orbench_inspect.spreadsheets import no_formula


def as_json(comparison: Comparison) -> str:
    """All frames, as JSON."""
    frames = ("rates", "differences", "answers", "balance", "categories", "macro", "costs")
    told: dict[str, Any] = {
        "by": comparison.by,
        "correction": comparison.correction,
        "baseline": comparison.baseline,
        "margin": comparison.margin,
    }
    for name in frames:
        told[name] = json.loads(getattr(comparison, name).to_json(orient="records"))
    told["runs"] = json.loads(
        comparison.runs.to_json(orient="records", date_format="iso", default_handler=str)
    )
    return json.dumps({**told, "notes": comparison.notes}, indent=2, ensure_ascii=False)


def as_csv(comparison: Comparison) -> str:
    """Rates and differences, a row for each group, arm, prompt set and reading."""
    return as_sheet(joined(comparison))


def as_sheet(frame: pd.DataFrame) -> str:
    """A frame as CSV; text that a spreadsheet would take for a formula is given an apostrophe."""
    texts = frame.select_dtypes(exclude="number").columns
    return str(frame.assign(**{c: frame[c].map(_cell) for c in texts}).to_csv(index=False))


def as_markdown(comparison: Comparison) -> str:
    """The main table in Markdown."""
    return markdown(*_main_table(comparison))


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines
    )


def as_latex(comparison: Comparison) -> str:
    """The main table in LaTeX, for booktabs."""

    def line(cells: Iterable[str]) -> str:
        return " & ".join(map(_latex, cells)) + r" \\"

    header, rows = _main_table(comparison)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{'l' * len(header)}}}",
            r"\toprule",
            line(header),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _main_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    header = ["model" if comparison.by != "model" else "group", "arm"]
    sets = sets_in_order(comparison.rates)
    columns = ["refused % [95% CI]", "difference, points [95% CI]"]
    if comparison.correction is not None:
        columns[1:] = ["corrected", columns[1], "difference corrected"]
    header += [f"{name}: {column}" for name in sets for column in columns]
    rows = []
    frame = joined(comparison)
    deployed = frame[frame["reading"] == "deployed"]
    for (group, arm), cells in deployed.groupby(["group", "arm"], sort=False):
        row = [plain(group), plain(arm)]
        for name in sets:
            of_set = cells[cells["prompt_set"] == name]
            row += _cells(of_set.iloc[0], columns) if len(of_set) else [""] * len(columns)
        answers = comparison.answers
        found = answers[(answers["group"] == group) & (answers["arm"] == arm)]
        rows.append([*row, str(found["answer"].iloc[0]) if len(found) else ""])
    return [*header, "fewer and not worse"], rows


def _cells(row: Any, columns: Sequence[str]) -> list[str]:
    rate = f"{percent(row['rate'])} {interval(row, percent)}"
    if "corrected" in columns:
        return [rate, *corrected(row)]
    if pd.isna(row["difference"]):
        return [rate, ""]
    limits = {"lower": row["difference_lower"], "upper": row["difference_upper"]}
    return [rate, f"{signed(row['difference'])} {interval(limits, signed)}"]


def joined(comparison: Comparison) -> pd.DataFrame:
    """Rates with their differences, and the judge, a row for each reading of each arm and set."""
    keys = ["group", "prompt_set", "arm", "wanted", "reading"]
    renamed = comparison.differences.rename(
        columns={
            "n": "pairs",
            "lower": "difference_lower",
            "upper": "difference_upper",
            **{name: f"difference_{name}" for name in _CORRECTED},
        }
    )
    judges = comparison.runs[["group", "prompt_set", "arm"]].assign(
        judge=[judged_by(run) for _, run in comparison.runs.iterrows()]
    )
    rates = comparison.rates.merge(judges, on=["group", "prompt_set", "arm"], validate="m:1")
    return rates.merge(renamed, on=keys, how="left", validate="one_to_one")


_CORRECTED = ("corrected", "corrected_lower", "corrected_upper")


def corrected(row: Any) -> tuple[str, str, str]:
    """Corrected rate, raw difference and corrected difference of a row of `joined`."""

    def shown(name: str, form: Callable[[float], str]) -> str:
        limits = {side: row[f"{name}_{side}"] for side in ("lower", "upper")}
        return "" if pd.isna(row[name]) else f"{form(row[name])} {interval(limits, form)}"

    return (
        shown("corrected", percent),
        shown("difference", signed),
        shown("difference_corrected", signed),
    )


def _cell(value: object) -> object:
    return no_formula(plain(value)) if isinstance(value, str) else value


def _latex(text: str) -> str:
    escaped = re.sub(r"([&%$#_{}])", r"\\\1", plain(text).replace("\\", r"\textbackslash "))
    return escaped.replace("~", r"\textasciitilde ").replace("^", r"\textasciicircum ")
