"""What a page says, as plain data: numbers already written as they are read."""

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pandas as pd

from orbench_inspect.analysis.arms import PAST
from orbench_inspect.analysis.methods import methods
from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.report.record import (
    corrected,
    duration,
    quality,
    run_record,
    warnings,
    without_folders,
    without_quotes,
)
from orbench_inspect.analysis.wording import interval, percent, plain, sets_in_order, signed
from orbench_inspect.scoring.words import CAUSES

_KIND = {"answer": "harmless", "refuse": "harmful"}


def page_data(found: Overview, responses: bool) -> dict[str, Any]:
    """All that the page's template fills in, save figures and prompts.

    Args:
        found: From `overview`.
        responses: Whether to include what models wrote.
    """
    sets = sets_in_order(found.rates)
    wanted = found.rates.groupby("prompt_set")["wanted"].first()
    runs = [run_record(found, row) for _, row in found.arms.iterrows()]
    shared = {name: value for name, value in runs[0].items() if len({r[name] for r in runs}) == 1}
    return {
        "title": _title(found),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": version("orbench-inspect"),
        "baseline": found.baseline,
        "both_sides": _both_sides(found),
        "margin": f"{100 * found.comparison.margin:g}" if found.comparison else None,
        "samples": f"{len(found.samples):,}",
        "priced": bool(found.samples["cost"].notna().any()),
        "sets": [{"name": name, "should": PAST[wanted[name]]} for name in sets],
        "groups": [_group(found, str(group), sets) for group in _unique(found.rates["group"])],
        "categories": _categories(found),
        "quality": [quality(found, row) for _, row in _deployed(found.rates).iterrows()],
        "causes": [cause for cause in CAUSES if cause in set(found.outcomes["outcome"])],
        "corrected": "corrected" in found.rates,
        "shared": {name: value for name, value in shared.items() if value},
        "runs": [{n: v for n, v in run.items() if n not in shared} for run in runs],
        "notes": _notes(found, responses),
        "methods": methods(found.comparison) if found.comparison else None,
    }


def _notes(found: Overview, responses: bool) -> list[str]:
    said = {warning for told in found.arms["warnings"] for warning in told}
    # A warning that begins as the note of a log does says more, and of which arms.
    notes = [note for note in found.notes if not _begins(note.partition(": ")[2], said)]
    notes += warnings(found)
    return [without_folders(note if responses else without_quotes(note)) for note in notes]


def _begins(note: str, warnings: set[str]) -> bool:
    return note != "" and any(warning.startswith(note) for warning in warnings)


def _unique(column: "pd.Series[Any]") -> list[Any]:
    return list(dict.fromkeys(column))


def _both_sides(found: Overview) -> bool:
    """Whether there are harmless and harmful prompts, and so the question that needs both."""
    return len(_unique(found.rates["wanted"])) > 1


def _title(found: Overview) -> str:
    models = _unique(found.arms["model"])
    return ", ".join(map(plain, models)) if len(models) <= 3 else f"{len(models)} models"


def _deployed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["reading"] == "deployed"]


def _group(found: Overview, group: str, sets: list[str]) -> dict[str, Any]:
    rates = found.rates[found.rates["group"] == group]
    return {
        "name": plain(group),
        "arms": [_arm(found, group, str(arm), sets) for arm in _unique(rates["arm"])],
    }


def _arm(found: Overview, group: str, arm: str, sets: list[str]) -> dict[str, Any]:
    mine = _of(found.rates, group, arm)
    pairs = _of(found.comparison.differences, group, arm) if found.comparison else pd.DataFrame()
    answers = _of(found.comparison.answers, group, arm) if found.comparison else pd.DataFrame()
    balance = _of(found.comparison.balance, group, arm) if found.comparison else pd.DataFrame()
    cells = [_cell(mine, pairs, name) for name in sets]
    of = found.samples[(found.samples["group"] == group) & (found.samples["arm"] == arm)]
    answered = len(answers) > 0 and _both_sides(found)
    verdict = str(answers["answer"].iloc[0]) if answered else None
    return {
        "name": plain(arm),
        "role": _role(found, arm),
        "compared": len(pairs) > 0,
        "sentence": _sentence(cells, found.baseline),
        "verdict": verdict,
        "class": (verdict or "").replace(" ", "-"),
        "why": plain(answers["why"].iloc[0]) if answered else None,
        "cells": cells,
        "balance": _youden(balance.iloc[0]) if len(balance) else None,
        "tokens": f"{of['tokens'].sum():,.0f}",
        "seconds": duration(of["seconds"].sum()),
        "cost": "" if of["cost"].isna().all() else f"{of['cost'].astype(float).sum():.2f}",
    }


def _of(frame: pd.DataFrame, group: str, arm: str) -> pd.DataFrame:
    if frame.empty:
        return frame
    return frame[(frame["group"] == group) & (frame["arm"] == arm)]


def _role(found: Overview, arm: str) -> str:
    if arm == found.baseline:
        return "baseline"
    again = found.baseline is not None and arm.startswith(f"{found.baseline}#")
    return "baseline again" if again else ""


def _cell(rates: pd.DataFrame, pairs: pd.DataFrame, name: str) -> dict[str, Any] | None:
    rows = rates[rates["prompt_set"] == name].set_index("reading")
    if rows.empty:
        return None
    row = rows.loc["deployed"]
    cell = {
        "kind": _KIND[row["wanted"]],
        "rate": percent(row["rate"]),
        "interval": interval(row, percent),
        "left": f"{100 * row['lower']:.2f}" if row["n"] else "0",
        "width": f"{100 * (row['upper'] - row['lower']):.2f}" if row["n"] else "0",
        "at": f"{100 * row['rate']:.2f}" if row["n"] else "0",
        "model_only": percent(rows.loc["model_only"]["rate"]) if row["provider_refusals"] else None,
        "n": f"{row['n']:,.0f}",
        "unscored": int(row["unscored"]),
        "corrected": corrected(row, percent),
        "difference": None,
    }
    if len(pairs):
        of_set = _deployed(pairs)
        of_set = of_set[of_set["prompt_set"] == name]
        if len(of_set) and of_set["n"].iloc[0]:
            pair = of_set.iloc[0]
            cell |= {
                "difference": signed(pair["difference"]),
                "difference_interval": interval(pair, signed),
                "difference_corrected": corrected(pair, signed),
                "flips": f"{pair['up']:g} up, {pair['down']:g} down",
                "p": f"{pair['p']:.2g}",
            }
    return cell


def _sentence(cells: list[dict[str, Any] | None], baseline: str | None) -> str:
    parts = []
    unscored = []
    for cell in cells:
        if cell is None:
            continue
        if cell["rate"] == "n/a":
            unscored.append(cell["kind"])
            continue
        part = f"{cell['rate']}% of {cell['kind']} prompts"
        if cell["difference"] is not None:
            part += f" ({cell['difference']} points from {baseline} {cell['difference_interval']}"
            if cell["difference_corrected"]:
                part += f"; corrected for judge error {cell['difference_corrected']}"
            part += ")"
        else:
            part += f" {cell['interval']}"
        parts.append(part)
    told = [f"refuses {' and '.join(parts)}"] if parts else []
    told += [f"has no scored responses to {' and '.join(unscored)} prompts"] if unscored else []
    return ", and ".join(told) or "was not scored"


def _youden(row: Any) -> str:
    limits = f"[{row['youden_lower']:.2f}, {row['youden_upper']:.2f}]"
    return f"{row['youden']:.2f} {limits}{' *' if row['pareto'] else ''}"


def _categories(found: Overview) -> list[dict[str, Any]]:
    """A table for each set: a row each category, a column each group and arm."""
    tables = []
    several = found.categories["group"].nunique() > 1
    for name, rows in found.categories.groupby("prompt_set", sort=False):
        columns = _unique(pd.Series(zip(rows["group"], rows["arm"], strict=True)))
        by = rows.set_index(["category", "group", "arm"])
        body = []
        for category in _unique(rows["category"]):
            cells = []
            for group, arm in columns:
                key = (category, group, arm)
                cell = by.loc[key] if key in by.index else None
                cells.append(
                    None
                    if cell is None
                    else {
                        "rate": percent(cell["rate"]),
                        "interval": interval(cell, percent),
                        "n": int(cell["n"]),
                    }
                )
            body.append({"name": plain(category), "cells": cells})
        heads = [plain(f"{group} · {arm}" if several else arm) for group, arm in columns]
        should = PAST[rows["wanted"].iloc[0]]
        tables.append({"set": plain(name), "should": should, "heads": heads, "rows": body})
    return tables
