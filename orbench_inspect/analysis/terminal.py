"""A comparison for a terminal of 100 columns."""

from collections.abc import Iterable
from textwrap import wrap

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orbench_inspect.analysis.comparison import Comparison
from orbench_inspect.analysis.forms import corrected, joined
from orbench_inspect.analysis.selection import Selected
from orbench_inspect.analysis.wording import (
    interval,
    judged_by,
    percent,
    plain,
    sets_in_order,
    signed,
)


def as_tables(comparison: Comparison) -> RenderableType:
    """A comparison for a terminal of 100 columns."""
    parts: list[RenderableType] = []
    for group in comparison.answers["group"].unique():
        parts.append(_text(f"{group}, judged by {_judges(comparison, group)}"))
        parts += [_rates(comparison, group), _differences(comparison, group)]
        if comparison.correction is not None:
            parts.append(_corrected(comparison, group))
        parts += [_answers(comparison, group), _costs(comparison, group), Text()]
    parts.append(Text("\n".join(_fine_print(comparison)), style="dim"))
    return Group(*parts)


def as_selection(selected: Iterable[Selected]) -> RenderableType:
    """What one half of the prompts chose, and what the other half says of it."""
    lines = []
    for one in selected:
        chosen, tested = one.difference("choosing"), one.difference("testing")
        lines.append(
            f"{plain(one.group)}: half of the prompts chooses {plain(one.arm)} "
            f"({signed(chosen['difference'])} points on harmless prompts there); on the other "
            f"half, once: {signed(tested['difference'])} {interval(tested, signed)}, "
            f"{one.answer}: {one.why}"
        )
    return Text("\n".join(lines))


def _rates(comparison: Comparison, group: str) -> Table:
    table = _table("refused, % [95% interval]")
    rows = comparison.rates[comparison.rates["group"] == group]
    sets = sets_in_order(rows)
    _add_columns(table, *("\n".join(wrap(plain(name), 24)) for name in sets))
    _add_columns(table, "J [95% interval]", "unscored")
    for arm, cells in rows.groupby("arm", sort=False):
        deployed = cells[cells["reading"] == "deployed"].set_index("prompt_set")
        only = cells[cells["reading"] == "model_only"].set_index("prompt_set")
        told = []
        for name in sets:
            if name not in deployed.index:
                told.append("")
                continue
            row = deployed.loc[name]
            text = f"{percent(row['rate'])} {interval(row, percent)}"
            if row["provider_refusals"]:
                text += f"\nmodel only {percent(only.loc[name]['rate'])}"
            told.append(text)
        unscored, samples = deployed["unscored"].sum(), deployed["samples"].sum()
        balance = comparison.balance
        j = balance[(balance["group"] == group) & (balance["arm"] == arm)]
        table.add_row(_text(arm), *told, _youden(j), f"{unscored} of {samples}")
    return table


def _judges(comparison: Comparison, group: str) -> str:
    runs = comparison.runs[comparison.runs["group"] == group]
    return "; ".join(sorted({judged_by(run) for _, run in runs.iterrows()}))


def _corrected(comparison: Comparison, group: str) -> Table:
    table = _table(f"corrected for the judge's error by {comparison.correction}")
    _add_columns(table, "set", "", "refused, %", "difference, points", "labels")
    frame = joined(comparison)
    rows = frame[(frame["group"] == group) & (frame["reading"] == "deployed")]
    for _, row in rows.iterrows():
        names = map(_text, (row["arm"], row["prompt_set"]))
        rate, raw, difference = corrected(row)
        table.add_row(*names, "raw", f"{percent(row['rate'])} {interval(row, percent)}", raw)
        table.add_row("", "", "corrected", rate, difference, f"{row['labels']:,.0f}")
    return table


def _youden(found: pd.DataFrame) -> str:
    if found.empty:
        return ""
    row = found.iloc[0]
    star = " *" if row["pareto"] else ""
    return f"{row['youden']:.2f} [{row['youden_lower']:.2f}, {row['youden_upper']:.2f}]{star}"


def _differences(comparison: Comparison, group: str) -> Table:
    table = _table(f"difference from {comparison.baseline}, points [95% interval]")
    rows = comparison.differences[
        (comparison.differences["group"] == group)
        & (comparison.differences["reading"] == "deployed")
    ]
    floor = rows[rows["noise_floor"]].groupby("prompt_set")["difference"].first()
    noise = [] if floor.empty else ["noise"]
    _add_columns(table, "set", "difference", *noise, "up/down", "p", "pairs", "80%\npower at")
    for _, row in rows.sort_values(["noise_floor", "wanted", "arm"]).iterrows():
        table.add_row(
            _text(row["arm"]),
            _text(row["prompt_set"]),
            f"{signed(row['difference'])} {interval(row, signed)}",
            *(signed(floor.get(row["prompt_set"], float("nan"))) for _ in noise),
            f"{row['up']:g}/{row['down']:g}",
            f"{row['p']:.2g}",
            f"{row['n']:,}" + (f" (-{row['lost']})" if row["lost"] else ""),
            "" if pd.isna(row["detectable"]) else f"{100 * row['detectable']:.1f}",
        )
    return table


def as_categories(comparison: Comparison) -> RenderableType:
    """Differences by category, deployed reading, for a terminal: a table for each group."""
    names = ["group", "arm", "prompt_set"]
    means = comparison.macro.set_index(names)
    tables: dict[object, Table] = {}
    for (group, *keys), rows in comparison.categories.groupby(names, sort=False):
        if group not in tables:
            title = "exploration: differences by category, points [95% interval]"
            tables[group] = _table(f"{group}, {title}")
            _add_columns(tables[group], "set", "category", "n", "difference", "p (BH)")
        for _, row in rows.iterrows():
            shown = f"{signed(row['difference'])} {interval(row, signed)}"
            cells = (row["category"], f"{row['n']:,}", shown, f"{row['p_bh']:.2g}")
            tables[group].add_row(*map(_text, (*keys, *cells)))
        mean = means.loc[(group, *keys)]
        shown = f"{signed(mean['difference'])} {interval(mean, signed)}"
        tables[group].add_row(*map(_text, (*keys, "(mean of categories)", "", shown, "")))
    return Group(*tables.values())


def _costs(comparison: Comparison, group: str) -> Table:
    table = _table("a prompt's cost: the model's tokens and dollars; seconds with its judge")
    _add_columns(table, "set", "tokens", "seconds", "characters", "dollars")
    for _, row in comparison.costs[comparison.costs["group"] == group].iterrows():
        numbers = [row[f"{name}_per_prompt"] for name in ("tokens", "seconds", "characters")]
        money = row["cost_per_prompt"]
        table.add_row(
            *map(_text, (row["arm"], row["prompt_set"])),
            *("" if pd.isna(number) else f"{number:,.1f}" for number in numbers),
            "" if pd.isna(money) else f"{money:.5f}",
        )
    return table


def _answers(comparison: Comparison, group: str) -> RenderableType:
    rows = comparison.answers[comparison.answers["group"] == group]
    margin = f"{100 * comparison.margin:g} points"
    lines = Text(f"Fewer harmless prompts refused, and not worse on harmful ones by {margin}?\n")
    for _, row in rows.iterrows():
        lines.append(f"  {plain(row['arm'])}: ")
        lines.append(row["answer"], style="bold")
        lines.append(f" (p {row['p_holm']:.2g}): {row['why']}\n")
    return lines


def _fine_print(comparison: Comparison) -> list[str]:
    noise = ["noise: the same difference for a second, independent run of the baseline."]
    return [
        "J: refusal rate on harmful prompts less that on harmless ones; * no arm beats it on both.",
        *(noise if comparison.differences["noise_floor"].any() else []),
        "p in the last block: the larger of both sides and readings, Holm over the arms.",
        "Intervals take prompts as independent; some may stem from one unpublished seed.",
        *(f"Note: {plain(note)}" for note in comparison.notes),
    ]


def _table(title: str) -> Table:
    table = Table(title=_text(title), title_justify="left", box=None, pad_edge=False)
    table.add_column("arm", overflow="fold")
    return table


def _add_columns(table: Table, *names: str) -> None:
    """Add columns: names give way where not all fits, and numbers are never broken."""
    for name in names:
        broken = name in ("set", "category")
        table.add_column(Text(name), no_wrap=not broken, overflow="fold")


def _text(value: object) -> Text:
    return Text(plain(value))
