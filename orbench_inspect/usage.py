"""What a person typed wrong, shown as one message and not as a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn errors about values into errors of usage."""
    try:
        yield
    except ValueError as ex:
        raise click.UsageError(str(ex)) from ex


def rejoined(value: object) -> object:
    """A path that holds a comma arrives from the command line as a list; a number as one."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
