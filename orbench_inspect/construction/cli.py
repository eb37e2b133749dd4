"""`orbench construct`: make a new over-refusal set, or what is left of one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from inspect_ai.model import ModelCost

    from orbench_inspect.construction.config import Config
    from orbench_inspect.construction.estimate import Calls
    from orbench_inspect.construction.facts import Facts

# Written out, since the module that knows them imports Inspect.
_STAGES = ("seeds", "rewrite", "moderate", "second_chance", "select_hard")


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print the estimate, ask nothing, write nothing.")
@click.option("--stop-after", type=click.Choice(_STAGES), help="Run no stage after this one.")
@click.option(
    "--prices",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Prices by model, in the format of Inspect's --model-cost-config.",
)
@click.option("--yes", is_flag=True, help="Start without asking.")
def construct(
    config: Path, dry_run: bool, stop_after: str | None, prices: Path | None, yes: bool
) -> None:
    """Make a new over-refusal set by the paper's method, as CONFIG (YAML) says.

    Seeds, rewrites, moderation, a second chance, and the selection of the hard and the toxic;
    each stage's logs can be browsed with `inspect view`. Killed and run again, it asks only what
    is missing. evals/construct.yaml is an example.
    """
    from orbench_inspect.construction.config import load_config
    from orbench_inspect.construction.estimate import estimate
    from orbench_inspect.prices import read_prices

    try:
        checked = load_config(config)
        known = read_prices(prices) if prices is not None else {}
        rows = [row for row in estimate(checked) if _runs(row.stage, stop_after)]
    except ValueError as ex:
        raise click.UsageError(str(ex)) from ex
    left = _show_estimate(rows, known)
    if dry_run:
        return
    _check_models(checked)
    if left and not yes:
        click.confirm("Start?", abort=True)
    _run(checked, config, stop_after)


def _check_models(config: "Config") -> None:
    from orbench_inspect.construction.pipeline import check_models

    try:
        check_models(config)
    except ValueError as ex:
        raise click.UsageError(str(ex)) from ex


def _run(config: "Config", file: Path, stop_after: str | None) -> None:
    from orbench_inspect.construction.pipeline import run_stages
    from orbench_inspect.construction.product import write_product

    try:
        run_stages(config, file, stop_after, click.echo)
        if stop_after in (None, _STAGES[-1]):
            _show_product(config, write_product(config))
    except ValueError as ex:
        raise click.ClickException(str(ex)) from ex


def _runs(stage: str, stop_after: str | None) -> bool:
    return stop_after is None or _STAGES.index(stage) <= _STAGES.index(stop_after)


def _show_estimate(rows: "list[Calls]", prices: "dict[str, ModelCost]") -> int:
    """Print the estimate, and return how many calls are left."""
    from orbench_inspect.construction import estimate as e
    from orbench_inspect.prices import ANSWER_TOKENS, CHARACTERS_A_TOKEN

    click.echo(f"{'stage':14} {'role':10} {'calls':>10} {'left':>10} {'in':>7} {'out':>5} model")
    total_in = total_out = calls = 0
    costs: list[float] = []
    unpriced: set[str] = set()
    for row in rows:
        calls += row.left
        total_in += row.left * row.input_tokens
        total_out += row.left * row.output_tokens
        cost = row.cost(prices)
        shown = ""
        if cost is None:
            unpriced.add(row.model)
        else:
            costs.append(cost)
            shown = f"  ${cost:,.2f}"
        click.echo(
            f"{row.stage:14} {row.role:10} {row.calls:10,} {row.left:10,} {row.input_tokens:7,} "
            f"{row.output_tokens:5,} {row.model}{shown}"
        )
    click.echo(
        f"{calls:,} calls left, about {total_in:,} input and {total_out:,} output tokens. Assumed: "
        f"{e.TOXIC_SHARE:.0%} of rewrites voted toxic at first, {e.SAFE_SHARE:.0%} safe in the "
        f"end, {CHARACTERS_A_TOKEN} characters a token, answers of {ANSWER_TOKENS} tokens; "
        "reasoning, re-asks and retries come on top."
    )
    if costs:
        click.echo(f"About ${sum(costs):,.2f} at the given prices.")
    if unpriced:
        click.echo(f"No price: {', '.join(sorted(unpriced))} (--prices FILE)")
    return calls


def _show_product(config: "Config", facts: "Facts") -> None:
    from orbench_inspect.construction.facts import SETS

    out = Path(config.out)
    sizes = ", ".join(f"{name} {facts.in_set[name].total():,}" for name in SETS)
    click.echo(f"\n{sizes}: {out}; read {out / 'README.md'} first")
    for warning in facts.warnings():
        click.echo(f"warning: {warning}", err=True)
    if facts.in_set["hard"]:
        click.echo(
            f"inspect eval orbench_inspect/custom -T file={out / 'hard.csv'} -T wanted=answer …"
        )
