"""`orbench published`, `export` and `report`: results to look at and to hand on."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import click

from orbench_inspect.cli_options import corrected_by, scores_of, tell
from orbench_inspect.cli_options import logs as logs_argument


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
@logs_argument
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
    tell(runs.notes)
    number = len(runs.runs)
    click.echo(f"{len(runs.samples):,} rows of {number} run{'s' * (number > 1)}", err=True)


@click.command("report")
@logs_argument
@click.option(
    "-o",
    "--output",
    default="report",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write.",
)
@click.option(
    "--by",
    type=click.Choice(["mitigation", "model", "judge"]),
    help="What tells the arms apart. Default: what does.",
)
@click.option("--baseline", help="The arm to compare with. Default: none, or the first by name.")
@click.option(
    "--margin",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0, 100),
    help="Points that an arm may refuse less of harmful prompts and be called not worse.",
)
@scores_of
@corrected_by
@click.option("--no-responses", is_flag=True, help="Leave out what models wrote, for sharing.")
@click.option("--with-viewer", is_flag=True, help="Bundle Inspect's viewer, and link into it.")
def report_command(
    logs: tuple[str, ...],
    output: Path,
    by: str | None,
    baseline: str | None,
    margin: float,
    judge: str | None,
    judge_prompt: str | None,
    labels: tuple[str, ...],
    calibrate: str | None,
    partial: str | None,
    external: str | None,
    no_responses: bool,
    with_viewer: bool,
) -> None:
    """Write a page that opens from disk, with figures and tables as files.

    LOGS are directories or log files (default: logs). The page loads nothing from anywhere.
    """
    from orbench_inspect.analysis import read_runs
    from orbench_inspect.analysis.calibration import calibrated_by
    from orbench_inspect.analysis.overview import overview
    from orbench_inspect.analysis.report import write_report

    sources = logs or ("logs",)
    if with_viewer and no_responses:
        raise click.UsageError("--with-viewer shows every response: leave out --no-responses")
    if with_viewer and (len(sources) > 1 or sources[0].endswith((".eval", ".json"))):
        raise click.UsageError("--with-viewer needs one log directory, not files or several")
    if with_viewer and output.resolve().is_relative_to(Path(sources[0]).resolve()):
        raise click.UsageError(
            "--with-viewer copies the logs: write the report outside of the log directory (-o)"
        )
    try:
        runs = read_runs(*sources)
        found = overview(
            runs,
            cast(Any, by),
            baseline,
            margin / 100,
            judge,
            judge_prompt,
            calibrated_by(runs, labels, calibrate, partial, external),
        )
        page = write_report(found, output, not no_responses, sources[0] if with_viewer else None)
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    click.echo(page)


REPORT_COMMANDS: Iterable[click.Command] = (published_command, export_command, report_command)
