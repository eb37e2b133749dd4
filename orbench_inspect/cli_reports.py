"""`orbench published`, `export` and `report`: results to look at and to hand on."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import click


@click.command("published")
@click.option("--model", "names", multiple=True, help="This model's categories (may be repeated).")
def published_command(names: tuple[str, ...]) -> None:
    """Show the results published with the paper: to look at beside yours, never to test against."""
    from rich.console import Console

    from orbench_inspect.analysis.published import published, published_model
    from orbench_inspect.analysis.published.tables import as_category_table, as_table

    try:
        chosen = [published_model(name) for name in names]
    except ValueError as ex:
        raise click.UsageError(str(ex)) from ex
    console = Console(width=100)
    for model in chosen:
        console.print(as_category_table(model))
    if not chosen:
        console.print(as_table(published()))


@click.command("export")
@click.argument("logs", nargs=-1, metavar="[LOGDIR | A.eval B.eval …]")
@click.option(
    "--format",
    "form",
    default="csv",
    show_default=True,
    type=click.Choice(["csv", "jsonl", "parquet"]),
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The file.")
@click.option("--no-responses", is_flag=True, help="Leave out what models wrote.")
@click.option("--columns", is_flag=True, help="Say what each column holds, and end.")
def export_command(
    logs: tuple[str, ...], form: str, output: Path | None, no_responses: bool, columns: bool
) -> None:
    """Write one row for each prompt, epoch, run and judge.

    LOGS are directories or log files (default: logs). Without -o, csv and jsonl are printed. In
    csv, text that a spreadsheet would take for a formula is given an apostrophe.
    """
    from orbench_inspect.analysis import read_runs
    from orbench_inspect.analysis.export import COLUMNS, export, export_to
    from orbench_inspect.analysis.wording import plain

    if columns:
        for name, (kind, meaning) in COLUMNS.items():
            click.echo(f"{name:20} {kind.__name__:6} {meaning}")
        return
    if form == "parquet" and output is None:
        raise click.UsageError("--format parquet needs a file: -o FILE.parquet")
    try:
        runs = read_runs(*(logs or ("logs",)))
        if output is None:
            export(runs, cast(Any, form), sys.stdout.buffer, not no_responses)
        else:
            export_to(runs, cast(Any, form), output, not no_responses)
    except BrokenPipeError:  # the reader, such as head, has had enough
        raise
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    for note in runs.notes:
        click.echo(f"note: {plain(note)}", err=True)
    click.echo(f"{len(runs.samples):,} rows of {len(runs.runs)} runs", err=True)


REPORT_COMMANDS: Iterable[click.Command] = (published_command, export_command)
