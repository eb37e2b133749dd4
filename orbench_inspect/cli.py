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


@main.command()
@click.argument("name", required=False)
def mitigations(name: str | None) -> None:
    """List the system-prompt variants, or print the text of the one called NAME."""
    from orbench_inspect.mitigations import known_mitigations, load_mitigation

    try:
        if name is not None:
            click.echo(load_mitigation(name).text)
            return
        for known in known_mitigations():
            meta = load_mitigation(known).meta
            click.echo(f"{known:20} {meta['idea']}")
    except ValueError as ex:
        raise click.UsageError(str(ex)) from ex


if __name__ == "__main__":
    main()
