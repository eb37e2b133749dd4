"""`orbench plan`: what a study will ask for, before money is spent."""

import sys
from pathlib import Path
from typing import Any

import click

from orbench_inspect.cli_options import PRICES

_COUNT, _ABOVE_ZERO = click.IntRange(1), click.FloatRange(0, min_open=True)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("script")
@click.argument("script_args", nargs=-1, type=click.UNPROCESSED, metavar="[ITS ARGUMENTS]…")
@PRICES
@click.option(
    "--pilot",
    metavar="N|LOGDIR",
    help="Ask N prompts of each set first, which costs, or take logs of such a pilot.",
)
@click.option("--response-tokens", type=_COUNT, help="Of a response (default: 400).")
@click.option("--grader-tokens", type=_COUNT, help="Of a judge's reply (default: 60).")
@click.option(
    "--certain-share",
    type=click.FloatRange(0, 100),
    help="Percent of responses that a cascade's certain rules settle (default: 50).",
)
@click.option("--connections", type=_COUNT, help="Calls at once to each model (default: 10).")
@click.option("--seconds-per-call", type=_ABOVE_ZERO, help="Default: 5.")
@click.option("--requests-per-minute", type=_COUNT, help="Limit of each model.")
@click.option("--tokens-per-minute", type=_COUNT, help="Limit of each model, in and out.")
@click.option(
    "--batch-price", type=click.FloatRange(0, 100), help="Percent of the price (default: 50)."
)
@click.option("--batch-hours", type=_ABOVE_ZERO, help="The longest of a batch (default: 24).")
@click.option(
    "--discordance",
    type=click.FloatRange(0, 100, min_open=True),
    help="Percent of prompts on which an arm and the baseline differ (default: 5).",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 100, min_open=True),
    help="Points that an arm may refuse less of harmful prompts and be called not worse "
    "(default: 2).",
)
@click.option("--json", "as_data", is_flag=True, help="All numbers, as JSON.")
def plan(
    script: str,
    script_args: tuple[str, ...],
    prices: Path | None,
    pilot: str | None,
    response_tokens: int | None,
    grader_tokens: int | None,
    certain_share: float | None,
    connections: int | None,
    seconds_per_call: float | None,
    requests_per_minute: int | None,
    tokens_per_minute: int | None,
    batch_price: float | None,
    batch_hours: float | None,
    discordance: float | None,
    margin: float | None,
    as_data: bool,
) -> None:
    """Calls, tokens, dollars, hours and power of a study, before money is spent.

    SCRIPT is one that calls eval_set, such as evals/mitigations.py, followed by its own arguments.
    It is started and stopped where its tasks are known; nothing is sent to a model, unless a pilot
    is asked for. What a pilot has seen takes the place of what the options say.

    Put `--` before SCRIPT if it has an option of the same name as one of these.
    """
    from rich.console import Console

    from orbench_inspect.prices import read_prices
    from orbench_inspect.studies.capture import captured
    from orbench_inspect.studies.paid_pilot import run_pilot
    from orbench_inspect.studies.pilot import read_pilot
    from orbench_inspect.studies.plan import Assumed
    from orbench_inspect.studies.plan_terminal import as_json, as_tables, make_plan
    from orbench_inspect.studies.planned import planned

    given: dict[str, Any] = {
        "response_tokens": response_tokens,
        "grader_tokens": grader_tokens,
        "certain": None if certain_share is None else certain_share / 100,
        "connections": connections,
        "seconds": seconds_per_call,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "batch_price": None if batch_price is None else batch_price / 100,
        "batch_hours": batch_hours,
        "discordance": None if discordance is None else discordance / 100,
        "margin": None if margin is None else margin / 100,
    }
    assumed = Assumed(**{name: value for name, value in given.items() if value is not None})
    try:
        known = read_prices(prices) if prices is not None else {}
        tasks = planned(captured(script, script_args))
        if pilot is not None and pilot.isdigit():
            pilot = run_pilot(script, script_args, int(pilot), prices)
        seen = read_pilot(pilot) if pilot is not None else None
        found = make_plan(tasks, assumed, known, seen)
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    if as_data:
        click.echo(as_json(found))
        return
    Console(width=None if sys.stdout.isatty() else 100).print(as_tables(found))
