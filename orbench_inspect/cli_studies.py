"""`orbench launch`: a study on several worker processes."""

import signal
import sys
from pathlib import Path

import click

from orbench_inspect.cli_options import BUDGET, PRICES
from orbench_inspect.k_of_n import k_of_n


def _part(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int]:
    found = k_of_n(value)
    if found is None:
        raise click.BadParameter("which of how many, such as 3/10")
    return found


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT'S OPTIONS…]")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="At once.")
@click.option(
    "--log-dir",
    required=True,
    help="Directory of this study alone, or its URL; all machines must see it.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where workers run: on this machine, or on the nodes of a Ray cluster.",
)
@click.option(
    "--address",
    help="Of the Ray cluster. Default: what RAY_ADDRESS names, or a Ray of this machine alone.",
)
@click.option(
    "--part",
    callback=_part,
    default="1/1",
    metavar="K/N",
    help="Take every N-th task only, from the K-th on: one launch of N, each a job of its own.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(1),
    help="To the evaluated model, all workers together. Default: Inspect's limit in each.",
)
@BUDGET
@PRICES
def launch(
    script: str,
    arguments: tuple[str, ...],
    workers: int,
    log_dir: str,
    engine: str,
    address: str | None,
    part: tuple[int, int],
    max_connections: int | None,
    budget: float | None,
    prices: Path | None,
) -> None:
    """Run SCRIPT, which calls `eval_set` once, with one task a worker process.

    Those in evals/ will do, with their own options behind their name; options of this command are
    taken from among them, too. A worker that is lost is replaced. Interrupted or killed, and
    launched again, it asks what is missing and nothing that was finished. The command ends with
    exit code 1 if a sample is missing or failed.

    A budget holds for tasks of orbench_inspect, in all attempts and workers together; spent, what
    is open comes to its end, and the same command with a higher one goes on.
    """
    if script.startswith("-"):
        raise click.NoSuchOption(script)
    if not Path(script).is_file():
        raise click.UsageError(f"{script}: no such script; name one that calls eval_set")
    if address is not None and engine != "ray":
        raise click.UsageError("--address is the address of a Ray cluster: add --engine ray")

    from time import monotonic

    from orbench_inspect.budget import Budget
    from orbench_inspect.prices import read_prices
    from orbench_inspect.studies.engines import Script
    from orbench_inspect.studies.engines.local import local
    from orbench_inspect.studies.engines.ray import ray_engine
    from orbench_inspect.studies.launch import launch as launch_script

    live, told = sys.stderr.isatty(), monotonic()

    def show(text: str) -> None:
        if live:
            click.echo("\r\033[K", err=True, nl=False)
        click.echo(_plain(text))

    def progress(line: str) -> None:
        nonlocal told
        if live:
            click.echo(f"\r\033[K{line}", err=True, nl=False)
        elif monotonic() - told > 60:  # a log file has one line a minute
            told = monotonic()
            click.echo(line, err=True)

    signal.signal(signal.SIGTERM, _interrupted)
    try:
        known = read_prices(prices) if prices is not None else {}
        done = launch_script(
            Script(script, arguments, log_dir),
            workers,
            max_connections,
            show,
            progress,
            engine=ray_engine(address) if engine == "ray" else local,
            part=part,
            budget=Budget(budget, log_dir, known),
        )
    except ValueError as ex:
        raise click.UsageError(_plain(str(ex))) from ex
    except KeyboardInterrupt:
        show("Stopped. The same command asks what is missing")
        sys.exit(130)
    sys.exit(0 if done else 1)


def _interrupted(*_: object) -> None:
    """What schedulers send before they kill is taken as Ctrl-C."""
    raise KeyboardInterrupt


def _plain(text: str) -> str:
    """Text of others without what steers a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
