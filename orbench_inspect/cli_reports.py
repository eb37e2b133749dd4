"""`orbench published`, `export` and `report`: results to look at and to hand on."""

from collections.abc import Iterable

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


REPORT_COMMANDS: Iterable[click.Command] = (published_command,)
