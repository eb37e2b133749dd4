"""`orbench judge`, `orbench draw`, `orbench regrade`: how far the judge can be trusted."""

import sys
from pathlib import Path
from typing import Any, cast

import click

from orbench_inspect.cli_options import PARTIAL, scores_of, tell
from orbench_inspect.cli_options import logs as logs_argument


@click.command()
@logs_argument
@click.option(
    "--labels",
    multiple=True,
    metavar="FILE",
    help="A sheet of `orbench draw`, filled in; again for a second person's.",
)
@click.option("--partial", type=PARTIAL, help="What a partial refusal is (default: refused).")
@click.option(
    "--all-groups", is_flag=True, help="Each model and side too, not each by itself only."
)
@click.option("--json", "form", flag_value="json", help="All numbers, as JSON.")
@click.option("--csv", "form", flag_value="csv", help="All numbers, as CSV.")
@click.option("--markdown", "form", flag_value="markdown", help="The table, as Markdown.")
def judge(
    logs: tuple[str, ...],
    labels: tuple[str, ...],
    partial: str | None,
    all_groups: bool,
    form: str | None,
) -> None:
    """Set judges side by side with humans: agreement, error, cost.

    LOGS are those of `inspect eval orbench_inspect/judge_validation`; or, with --labels, those of
    a study from which `orbench draw` drew responses that a person has labelled since. A study's
    logs without labels tell how often the judge could judge at all. With --labels and a constructed
    set, moderators are held against the labels.
    """
    from rich.console import Console

    from orbench_inspect.analysis.hand_labels import join_labels
    from orbench_inspect.analysis.judge_success import as_success_table, judge_success
    from orbench_inspect.analysis.judge_tables import as_form, as_plain, as_tables
    from orbench_inspect.analysis.judges import LEVELS, judge_table, read_validations
    from orbench_inspect.analysis.runs import read_runs
    from orbench_inspect.construction.audit import audit_table, trail_of

    sources = logs or ("logs",)
    console = Console(width=None if sys.stdout.isatty() else 124)
    notes: list[str] = []
    try:
        if partial and not labels:
            raise ValueError(
                "--partial goes with --labels SHEET; a validation is told with -T partial=…"
            )
        if len(logs) == 1 and (trail := trail_of(logs[0])):
            if len(labels) != 1:
                raise ValueError("a constructed set is held against one sheet: --labels SHEET")
            audited = audit_table(trail, Path(labels[0]))
            if form is None:
                console.print(as_plain(audited))
            else:
                click.echo(as_form(audited, form))
            return
        if labels:
            runs = read_runs(*sources)
            joined = join_labels(labels, runs, cast(Any, partial or "refused"))
            judged, notes = joined.rows, [*runs.notes, *joined.notes]
            levels: list[tuple[str, ...]] = [(), ("side",), ("arm",), ("arm", "side")]
        elif (judged := read_validations(sources, notes)).empty:
            runs = read_runs(*sources)
            success = judge_success(runs)
            if form is None:
                console.print(as_success_table(success))
            else:
                click.echo(as_form(success, form))
            tell(runs.notes)
            return
        else:
            levels = [*LEVELS]
        told = levels if all_groups or form else levels[:3]
        # A group that holds all responses says nothing more.
        told = [level for level in told if not level or judged.groupby([*level]).ngroups > 1]
        table = judge_table(judged, told)
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    if form is None:
        console.print(as_tables(table))
    else:
        click.echo(as_form(table, form))
    tell(notes)


@click.command()
@logs_argument
@click.option("-n", "number", type=click.IntRange(1), required=True, help="How many responses.")
@click.option("-o", "output", required=True, type=click.Path(path_type=Path), help="The sheet.")
@click.option("--second", type=click.Path(path_type=Path), help="A sheet for a second person.")
@click.option("--seed", default=1, show_default=True, help="Seed of the draw.")
@scores_of
def draw(
    logs: tuple[str, ...],
    number: int,
    output: Path,
    second: Path | None,
    seed: int,
    judge: str | None,
    judge_prompt: str | None,
) -> None:
    """Draw responses of a study to label by hand, without showing the judge's verdict.

    Fill in the column `label`: refused, answered or partial; leave it empty where you cannot
    tell. Then: orbench judge --labels SHEET LOGDIR, orbench compare --labels SHEET LOGDIR.

    Of a constructed set (its folder or trail.parquet) it draws prompts, to be labelled safe or
    toxic, without showing what moderators decided; orbench judge --labels SHEET SET.
    """
    from dataclasses import replace

    from rich.console import Console

    from orbench_inspect.analysis.arms import scored_by
    from orbench_inspect.analysis.drawing import draw as draw_from
    from orbench_inspect.analysis.drawing import write_sheets
    from orbench_inspect.analysis.judge_tables import as_plain, as_strata
    from orbench_inspect.analysis.runs import read_runs
    from orbench_inspect.construction.audit import draw_audit, trail_of

    console = Console(width=None if sys.stdout.isatty() else 124)
    try:
        if len(logs) == 1 and (trail := trail_of(logs[0])):
            if second or judge or judge_prompt:
                raise ValueError("--second, --judge and --judge-prompt go with logs of a study")
            console.print(as_plain(draw_audit(trail, number, seed, output)))
            return
        runs = read_runs(*(logs or ("logs",)))
        chosen = replace(runs, runs=scored_by(runs.runs, judge, judge_prompt))
        drawn = draw_from(chosen, number, seed)
        write_sheets(drawn, output, second)
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    console.print(as_strata(drawn.strata))
    tell(runs.notes)
    click.echo(f"{len(drawn.rows)} responses in {output}" + (f" and {second}" if second else ""))


@click.command()
@logs_argument
@click.option(
    "--grader",
    required=True,
    metavar="MODEL",
    help="The judge, in any form that --model-role grader=… takes; A,B,C is a panel.",
)
@click.option("--judge-prompt", default="strict", show_default=True, help="The rubric.")
@click.option("--missing", is_flag=True, help="Judge only what this judge left open the last time.")
@click.option("--allow-self-judge", is_flag=True, help="Let a model judge its own responses.")
def regrade(
    logs: tuple[str, ...], grader: str, judge_prompt: str, missing: bool, allow_self_judge: bool
) -> None:
    """Judge stored responses again, without generating.

    Adds a score to each log (refusal1, refusal2, …) and keeps all others. Interrupted and run
    again, it does not pay twice. Choose between scores with `orbench compare --judge MODEL`.
    Exit code 1 where something is still open.
    """
    from orbench_inspect.studies.regrade import regrade as regrade_logs

    all_told = []
    try:
        sources = logs or ("logs",)
        for told in regrade_logs(sources, grader, judge_prompt, missing, allow_self_judge):
            click.echo(told.line)
            all_told.append(told)
    except (ValueError, OSError) as ex:
        raise click.UsageError(str(ex)) from ex
    done = sum(told.done for told in all_told)
    if len(all_told) > 1:
        judged, left = sum(told.judged for told in all_told), sum(told.open for told in all_told)
        click.echo(
            f"{len(all_told)} logs, {done} of them complete: {judged:,} responses judged, "
            f"{left:,} still open"
        )
    if done < len(all_told):
        sys.exit(1)
