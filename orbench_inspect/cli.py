"""`orbench`: the command line beside `inspect`."""

import sys
from pathlib import Path

import click


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


if __name__ == "__main__":
    main()
