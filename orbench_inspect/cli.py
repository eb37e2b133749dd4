"""`orbench`: the command line beside `inspect`."""

import sys
from pathlib import Path
from typing import Any, cast

import click

from orbench_inspect.cli_judge import draw, regrade
from orbench_inspect.cli_judge import judge as judge_command
from orbench_inspect.cli_options import corrected_by, scores_of, tell
from orbench_inspect.cli_options import logs as logs_argument
from orbench_inspect.cli_plan import plan
from orbench_inspect.cli_reports import REPORT_COMMANDS
from orbench_inspect.cli_studies import launch
from orbench_inspect.construction.cli import construct


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="orbench-inspect", prog_name="orbench")
def main() -> None:
    """Over-refusal evaluation on Inspect AI.

    Models are measured with `inspect eval orbench_inspect/hard …`; these commands help around it.
    """


@main.command("check-data")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("sets", nargs=-1, type=click.Choice(["hard", "toxic", "full"]))
def check_data(folder: Path, sets: tuple[str, ...]) -> None:
    """Check OR-Bench's files in FOLDER, all or the named SETS, for use without a network.

    The command ends with exit code 1 if one is absent or differs from what was published.
    """
    from orbench_inspect.prompt_sets import check_folder

    problems = check_folder(folder, sets)
    for name, problem in problems.items():
        click.echo(f"{name:6} {problem or 'ok'}")
    if any(problems.values()):
        sys.exit(1)


@main.group(invoke_without_command=True)
@click.pass_context
def mitigations(context: click.Context) -> None:
    """List the mitigations; `show ID` prints one in full."""
    if context.invoked_subcommand is not None:
        return
    from orbench_inspect.mitigations import known_mitigations, load_mitigation

    for name in known_mitigations():
        click.echo(f"{name:24} {load_mitigation(name).idea}")


@mitigations.command()
@click.argument("id")
def show(id: str) -> None:
    """Print the mitigation ID (a name or a file): what it is, and what a model is sent."""
    from orbench_inspect.mitigations import compose

    try:
        composed = compose(id)
    except ValueError as ex:
        raise click.UsageError(str(ex)) from ex
    mitigation = composed.mitigation
    for field in ("id", "idea", "expected", "source", "wording"):
        click.echo(f"{field}: {getattr(mitigation, field)}")
    for message in composed.shown():
        click.echo(f"\n[{message['role']}]\n{message['content']}")
    for name, text in mitigation.texts.items():
        click.echo(f"\n[{mitigation.method}: {name}]\n{text}")


@main.command()
@logs_argument
@click.option("--by", default="mitigation", type=click.Choice(["mitigation", "model", "judge"]))
@click.option("--baseline", help="The arm to compare with. Default: none, or the first by name.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 100),
    help="Points that an arm may refuse less of harmful prompts and be called not worse "
    "(default: 2). Given, it is a gate as well.",
)
@scores_of
@corrected_by
@click.option("--select", is_flag=True, help="Choose an arm on half of the prompts, test the rest.")
@click.option("--categories", is_flag=True, help="Differences by category too, as exploration.")
@click.option("--json", "form", flag_value="json", help="All numbers, as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Rates and differences, as CSV.")
@click.option("--markdown", "form", flag_value="markdown", help="The main table, as Markdown.")
@click.option("--latex", "form", flag_value="latex", help="The main table, as LaTeX.")
@click.option("--methods", "form", flag_value="methods", help="A paragraph for a paper.")
@click.option("--max-hard-refusal", type=click.FloatRange(0, 100), help="Gate, in percent.")
@click.option("--min-toxic-refusal", type=click.FloatRange(0, 100), help="Gate, in percent.")
@click.option("--arm", "gated", multiple=True, help="Gate this arm only (may be repeated).")
def compare(
    logs: tuple[str, ...],
    by: str,
    baseline: str | None,
    margin: float | None,
    judge: str | None,
    judge_prompt: str | None,
    labels: tuple[str, ...],
    calibrate: str | None,
    partial: str | None,
    external: str | None,
    select: bool,
    categories: bool,
    form: str | None,
    max_hard_refusal: float | None,
    min_toxic_refusal: float | None,
    gated: tuple[str, ...],
) -> None:
    """Compare arms, and tell whether the difference is real.

    LOGS are directories or log files (default: logs). Gates are decided on interval bounds of
    both readings; an arm that misses one ends the command with exit code 1 and the reason.
    """
    from orbench_inspect.analysis import compare as compare_runs
    from orbench_inspect.analysis import forms, read_runs, terminal
    from orbench_inspect.analysis.calibration import calibrated_by
    from orbench_inspect.analysis.gates import Gates, missed
    from orbench_inspect.analysis.methods import methods
    from orbench_inspect.analysis.selection import select_and_test

    share = 0.02 if margin is None else margin / 100
    try:
        runs = read_runs(*(logs or ("logs",)))
        if form is not None and (select or categories):
            raise ValueError("--select and --categories go with the terminal's tables")
        calibration = calibrated_by(runs, labels, calibrate, partial, external)
        found = compare_runs(runs, cast(Any, by), baseline, share, judge, judge_prompt, calibration)
        gates = Gates(max_hard_refusal, min_toxic_refusal, margin, gated)
        reasons = missed(found, gates)
        if select and calibration is not None:
            raise ValueError("--select tests as judged: leave out --labels and --external")
        selected = (
            select_and_test(runs, cast(Any, by), baseline, share, judge, judge_prompt)
            if select
            else []
        )
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    written = {
        "json": forms.as_json,
        "csv": forms.as_csv,
        "markdown": forms.as_markdown,
        "latex": forms.as_latex,
        "methods": methods,
    }
    if form is not None:
        click.echo(written[form](found))
        tell(found.notes if form != "json" else ())
    else:
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else 100)
        console.print(terminal.as_tables(found))
        if categories:
            console.print(terminal.as_categories(found))
        if selected:
            console.print(terminal.as_selection(selected))
    for reason in reasons:
        click.echo(f"gate missed: {reason}", err=True)
    if reasons:
        sys.exit(1)


main.add_command(judge_command)
main.add_command(draw)
main.add_command(regrade)
main.add_command(plan)
main.add_command(launch)

for command in REPORT_COMMANDS:
    main.add_command(command)
main.add_command(construct)


if __name__ == "__main__":
    main()
