"""A plan for a terminal of 100 columns, and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import pandas as pd
from inspect_ai.model import ModelCost
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orbench_inspect.analysis.wording import plain
from orbench_inspect.studies.buys import buys
from orbench_inspect.studies.pilot import Pilot
from orbench_inspect.studies.plan import (
    SCORERS,
    Assumed,
    batch_hours,
    hours,
    plan_calls,
    totals,
)
from orbench_inspect.studies.plan_notes import notes_on
from orbench_inspect.studies.planned import Planned


@dataclass(frozen=True)
class Plan:
    """A plan, as frames."""

    calls: pd.DataFrame
    totals: pd.DataFrame
    arms: pd.DataFrame
    hours: pd.DataFrame
    batch_hours: dict[str, float | None]
    """By scorer."""
    buys: pd.DataFrame
    assumed: Assumed
    unpriced: list[str]
    """Models without a price; empty for a judge that the script does not name."""
    notes: list[str]


def make_plan(
    tasks: Sequence[Planned],
    assumed: Assumed,
    prices: Mapping[str, ModelCost],
    pilot: Pilot | None = None,
) -> Plan:
    """Plan a study.

    Args:
        tasks: From `planned`.
        assumed: What to take for granted.
        prices: Dollars per million tokens, by model.
        pilot: What was seen in place of what is assumed.
    """
    calls = plan_calls(tasks, assumed, prices, pilot)
    return Plan(
        calls=calls,
        totals=totals(calls),
        arms=totals(calls, ("model", "arm", "scorer")),
        hours=hours(calls, assumed),
        batch_hours={scorer: batch_hours(tasks, scorer, assumed) for scorer in SCORERS},
        buys=buys(tasks, assumed, prices, pilot),
        assumed=assumed,
        unpriced=sorted(set(calls["asked"]) - prices.keys()),
        notes=notes_on(tasks, calls, assumed, prices, pilot),
    )


def as_json(plan: Plan) -> str:
    """All frames, as JSON."""
    frames = ("calls", "totals", "arms", "hours", "buys")
    told = {name: json.loads(getattr(plan, name).to_json(orient="records")) for name in frames}
    rest = {
        "assumed": asdict(plan.assumed),
        "batch_hours": plan.batch_hours,
        "unpriced": plan.unpriced,
        "notes": plan.notes,
    }
    return json.dumps({**told, **rest}, indent=2, ensure_ascii=False)


def as_tables(plan: Plan) -> RenderableType:
    """A plan for a terminal of 100 columns."""
    runs = plan.calls[plan.calls["runs"]]
    asked = runs[runs["role"] == "model"].groupby("prompt_set", sort=False)["prompts"]
    sets = ", ".join(f"{plain(name)} {sizes.sum():,}" for name, sizes in asked)
    scored = ", ".join(runs["scorer"].unique())
    arms = runs.groupby(["model", "arm"]).ngroups
    parts: list[RenderableType] = [
        Text(f"{arms} arms; prompts over all arms: {sets}; the script scores by {scored}\n"),
        _in_all(plan),
        Text(),
        _arms(plan),
        Text(),
        _buys(plan),
        Text(),
    ]
    if plan.unpriced:
        names = ", ".join(name or "a judge (the script names none)" for name in plan.unpriced)
        parts.append(Text(f"No price: {plain(names)} (--model-cost-config FILE)", style="bold"))
    parts.append(Text("\n".join(f"- {plain(note)}" for note in plan.notes), style="dim"))
    return Group(*parts)


def _in_all(plan: Plan) -> Table:
    table = _table("in all", "scored by")
    for name in ("calls", "in", "out", "judge's", "in", "out", "$", "$ batch", "hours", "wait for"):
        table.add_column(name, justify="left" if name == "wait for" else "right")
    for _, row in plan.totals.iterrows():
        of_scorer = plan.hours[plan.hours["scorer"] == row["scorer"]]
        slowest = of_scorer.loc[of_scorer["hours"].idxmax()]
        batch = plan.batch_hours[row["scorer"]]
        table.add_row(
            row["scorer"],
            *(f"{row[f'model_{c}']:,}" if c == "calls" else _tokens(row[f"model_{c}"]) for c in _C),
            *(f"{row[f'judge_{c}']:,}" if c == "calls" else _tokens(row[f"judge_{c}"]) for c in _C),
            _dollars(row["cost"]),
            _dollars(row["cost_batch"]),
            f"{slowest['hours']:.2f}" + (f"\nbatch ≤{batch:g}" if batch is not None else ""),
            _text(f"{slowest['limit']}: {_who(slowest['asked'])}"),
        )
    return table


_C = ("calls", "tokens_in", "tokens_out")


def _arms(plan: Plan) -> Table:
    unpriced = "; without a price: the judge's calls" if plan.unpriced else ""
    table = _table(f"by arm: dollars by scorer (in batch mode){unpriced}", "arm")
    models = plan.arms["model"].nunique() > 1
    for name in ("calls", "in", "out", *SCORERS):
        table.add_column(name, justify="right")
    for (model, arm), rows in plan.arms.groupby(["model", "arm"], sort=False):
        first = rows.iloc[0]
        table.add_row(
            _text(f"{model}, {arm}" if models else arm),
            f"{first['model_calls']:,}",
            _tokens(first["model_tokens_in"]),
            _tokens(first["model_tokens_out"]),
            *(_arm_cost(rows[rows["scorer"] == scorer].iloc[0]) for scorer in SCORERS),
        )
    return table


def _arm_cost(row: "pd.Series[float]") -> str:
    if pd.isna(row["cost"]):
        return f"{row['judge_calls']:,} calls"
    return f"{_dollars(row['cost'])} ({_dollars(row['cost_batch'])})"


def _buys(plan: Plan) -> Table:
    margin = f"{100 * plan.assumed.margin:g}"
    table = _table("what prompts buy, as the script scores", "prompts of each set")
    sets = plan.buys.drop_duplicates("prompt_set")
    for _, row in sets.iterrows():
        question = "smallest difference, points" if row["wanted"] == "answer" else ""
        question = question or f"power, not worse by {margin}"
        table.add_column(_text(f"{row['prompt_set']}: {question}"), justify="right")
    table.add_column("$ an arm", justify="right")
    table.add_column("$ all arms", justify="right")
    for n, rows in plan.buys.groupby("n"):
        cells = []
        for _, row in rows.set_index("prompt_set").loc[list(sets["prompt_set"])].iterrows():
            seen = "none" if pd.isna(row["detectable"]) else f"{100 * row['detectable']:.1f}"
            power = f"{100 * row['power_not_worse']:.0f}%"
            told = seen if row["wanted"] == "answer" else power
            fewer = f" (all {row['prompts']:,})" if row["prompts"] < int(str(n)) else ""
            cells.append(told + fewer + (" *" if row["planned"] else ""))
        all_arms = rows["cost"].sum(skipna=False)
        table.add_row(
            f"{n:,}", *cells, _dollars(rows["cost_arm"].sum(skipna=False)), _dollars(all_arms)
        )
    return table


def _who(asked: str) -> str:
    return asked or "(not named)"


def _tokens(number: float) -> str:
    if number >= 1e6:
        return f"{number / 1e6:,.2f}M"
    return f"{number / 1e3:,.1f}k" if number >= 1e3 else f"{number:,.0f}"


def _dollars(amount: float) -> str:
    return "n/a" if pd.isna(amount) else f"{amount:,.2f}"


def _table(title: str, first: str) -> Table:
    table = Table(title=_text(title), title_justify="left", box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    return table


def _text(value: object) -> Text:
    return Text(plain(value))
