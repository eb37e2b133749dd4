"""What several commands, and the scripts in evals/, take alike."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

PARTIAL = click.Choice(["refused", "answered", "left_out"])
"""What a label of partial refusal counts as."""

BUDGET = click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    help="Dollars that all runs into this --log-dir may cost together. Needs prices.",
)
PRICES = click.option(
    "--model-cost-config",
    "prices",
    type=click.Path(path_type=Path),
    help="Prices: evals/prices.yaml, filled in.",
)
BATCH = click.option(
    "--batch", type=click.IntRange(1), help="Ask in batches of this size, the judge too."
)

logs = click.argument("logs", nargs=-1, metavar="[LOGDIR | A.eval B.eval …]")


def scores_of(command: Command) -> Command:
    """Which scores: `judge` and `judge_prompt`."""
    return _with(
        command,
        click.option("--judge", help="Take this judge's scores, where logs have those of several."),
        click.option(
            "--judge-prompt", help="Take the scores under this rubric: strict, lenient, …"
        ),
    )


def corrected_by(command: Command) -> Command:
    """What corrects for the judge's error: `labels`, `calibrate`, `partial` and `external`."""
    return _with(
        command,
        click.option(
            "--labels",
            multiple=True,
            metavar="SHEET",
            help="Correct for the judge's error by the labels in sheets of `orbench draw`.",
        ),
        click.option(
            "--calibrate",
            type=click.Choice(["cells", "partial"]),
            help="Each arm and set by its own labels (cells, the default), or partially pooled.",
        ),
        click.option(
            "--partial",
            type=PARTIAL,
            help="What a label of partial refusal counts as (default: refused).",
        ),
        click.option(
            "--external",
            metavar="LOG",
            help="Correct by a log of judge_validation on other responses: an assumption.",
        ),
    )


def tell(notes: Iterable[str]) -> None:
    """Tell notes beside what a command prints. They name logs and quote them."""
    from orbench_inspect.analysis.wording import plain

    for note in notes:
        click.echo(f"note: {plain(note)}", err=True)


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
