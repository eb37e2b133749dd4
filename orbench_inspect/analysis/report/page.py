"""What a page says, as plain data: numbers already written as they are read."""

import re
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pandas as pd

from orbench_inspect.analysis.arms import PAST
from orbench_inspect.analysis.methods import methods
from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.wording import interval, percent, plain, sets_in_order, signed
from orbench_inspect.scoring.run_record import UNSCORED_LIMIT
from orbench_inspect.scoring.words import CAUSES, SCORED

_KIND = {"answer": "harmless", "refuse": "harmful"}


def page_data(found: Overview) -> dict[str, Any]:
    """All that the page's template fills in, save figures and prompts.

    Args:
        found: From `overview`.
    """
    sets = sets_in_order(found.rates)
    wanted = found.rates.groupby("prompt_set")["wanted"].first()
    return {
        "title": _title(found),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": version("orbench-inspect"),
        "baseline": found.baseline,
        "margin": f"{100 * found.comparison.margin:g}" if found.comparison else None,
        "samples": f"{len(found.samples):,}",
        "priced": bool(found.samples["cost"].notna().any()),
        "sets": [{"name": name, "should": PAST[wanted[name]]} for name in sets],
        "groups": [_group(found, str(group), sets) for group in _unique(found.rates["group"])],
        "categories": _categories(found),
        "quality": [_quality(found, row) for _, row in _deployed(found.rates).iterrows()],
        "causes": [cause for cause in CAUSES if cause in set(found.outcomes["outcome"])],
        "corrected": "corrected" in found.rates,
        "runs": [_run(found, row) for _, row in found.arms.iterrows()],
        "notes": [_note(note) for note in [*found.notes, *_warnings(found)]],
        "methods": methods(found.comparison) if found.comparison else None,
    }


def _unique(column: "pd.Series[Any]") -> list[Any]:
    return list(dict.fromkeys(column))


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
    verdict = str(answers["answer"].iloc[0]) if len(answers) else None
    return {
        "name": plain(arm),
        "role": _role(found, arm),
        "sentence": _sentence(cells, found.baseline),
        "verdict": verdict,
        "class": (verdict or "").replace(" ", "-"),
        "why": plain(answers["why"].iloc[0]) if len(answers) else None,
        "cells": cells,
        "balance": _youden(balance.iloc[0]) if len(balance) else None,
        "tokens": f"{of['tokens'].sum():,.0f}",
        "seconds": _duration(of["seconds"].sum()),
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
        "set": name,
        "kind": _KIND[row["wanted"]],
        "rate": percent(row["rate"]),
        "interval": interval(row, percent),
        "left": f"{100 * row['lower']:.2f}" if row["n"] else "0",
        "width": f"{100 * (row['upper'] - row['lower']):.2f}" if row["n"] else "0",
        "at": f"{100 * row['rate']:.2f}" if row["n"] else "0",
        "model_only": percent(rows.loc["model_only"]["rate"]) if row["provider_refusals"] else None,
        "n": f"{row['n']:,.0f}",
        "unscored": int(row["unscored"]),
        "samples": f"{row['samples']:,}",
        "corrected": _corrected(row),
        "difference": None,
    }
    if len(pairs):
        of_set = _deployed(pairs)
        of_set = of_set[of_set["prompt_set"] == name]
        if len(of_set):
            pair = of_set.iloc[0]
            cell |= {
                "difference": signed(pair["difference"]),
                "difference_interval": interval(pair, signed),
                "flips": f"{pair['up']:g} up, {pair['down']:g} down",
                "p": f"{pair['p']:.2g}",
            }
    return cell


def _corrected(row: Any) -> str | None:
    """The rate corrected for the judge's error, where that was measured."""
    if "corrected" not in row or pd.isna(row["corrected"]):
        return None
    return percent(row["corrected"])


def _sentence(cells: list[dict[str, Any] | None], baseline: str | None) -> str:
    parts = []
    for cell in cells:
        if cell is None:
            continue
        share = "an unknown share" if cell["rate"] == "n/a" else f"{cell['rate']}%"
        part = f"{share} of {cell['kind']} prompts"
        if cell["difference"] is not None:
            part += f" ({cell['difference']} points from {baseline} {cell['difference_interval']})"
        else:
            part += f" {cell['interval']}"
        parts.append(part)
    return f"refuses {' and '.join(parts)}" if parts else "was not scored"


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


def _quality(found: Overview, row: Any) -> dict[str, Any]:
    """How far one arm's numbers on one set can be trusted."""
    same = _of(found.samples, row["group"], row["arm"])
    samples = same[same["prompt_set"] == row["prompt_set"]]
    counts = samples["outcome"].value_counts()
    failed = int(counts.get("judge_error", 0) + counts.get("unparsed", 0))
    # Of those that came to be judged: a block, or nothing to read, is settled without a judge.
    judged = int(sum(counts.get(word, 0) for word in SCORED if word != "provider_refusal"))
    judged += failed
    flags = samples["flags"].str.split().explode().value_counts()
    return {
        "group": plain(row["group"]),
        "arm": plain(row["arm"]),
        "set": plain(row["prompt_set"]),
        "samples": f"{row['samples']:,}",
        "unscored": int(row["unscored"]),
        "loud": bool(row["unscored"] > UNSCORED_LIMIT * row["samples"]),
        "causes": {cause: int(counts.get(cause, 0)) for cause in CAUSES},
        "provider_refusals": int(row["provider_refusals"]),
        "bounds": f"{percent(row['lower_bound'])} to {percent(row['upper_bound'])}",
        "judge": f"{judged - failed:,} of {judged:,}",
        "truncated": int(flags.get("truncated", 0)),
        "injections": int(samples["injection_suspected"].astype(bool).sum()),
        "corrected": _corrected(row),
    }


def _run(found: Overview, row: Any) -> dict[str, str]:
    """One run: what was asked of whom, and every hash and version that decides its numbers."""
    samples = found.samples[found.samples["run"] == row["run"]]
    cost = samples["cost"].astype(float)
    revision = row["revision"] if isinstance(row["revision"], str) else "read from files"
    temperature, most = (_setting(row[name]) for name in ("temperature", "max_tokens"))
    told = {
        "model": row["model"],
        "arm": row["arm"],
        "set": f"{row['prompt_set']}, {revision}",
        "prompts": f"{row['samples']:,} of {row['planned']:,}",
        "judge": row["judge"],
        "judge prompt": f"{row.get('judge_prompt') or ''} {_short(row['judge_prompt_sha256'])}",
        "data": _short(row["data_sha256"]),
        "what was asked": _short(row["composed_sha256"]),
        "decoding": f"temperature {temperature}, {most} tokens",
        "tokens": f"{samples['tokens'].sum():,.0f}",
        "time": _duration(samples["seconds"].sum()),
        "dollars": "" if cost.isna().all() else f"{cost.sum():.2f}",
        "versions": f"orbench_inspect {row['package']}, Inspect {row['inspect']}",
        "started": str(row["created"]),
        "status": row["status"],
        "log": str(row["file"]).rpartition("/")[2],
    }
    return {name: plain(value).strip() for name, value in told.items()}


def _short(sha: object) -> str:
    return str(sha)[:12] if isinstance(sha, str) else ""


def _setting(value: Any) -> str:
    return "by default" if pd.isna(value) else f"{value:g}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _note(note: str) -> str:
    """A note without the folders of whoever made the report: a page is passed on."""
    return plain(re.sub(r"\S*/([^/\s]+\.(?:eval|json))", r"\1", note))


def _warnings(found: Overview) -> list[str]:
    """The warnings that runs gave when they ran, each once, with who gave it."""
    by_text: dict[str, list[str]] = {}
    for _, row in found.arms.iterrows():
        for warning in row["warnings"]:
            by_text.setdefault(warning, []).append(f"{row['arm']} on {row['prompt_set']}")
    total = len(found.arms)
    return [
        f"{', '.join(who) if len(who) <= 3 else f'{len(who)} of {total} runs'}: {text}"
        for text, who in by_text.items()
    ]
