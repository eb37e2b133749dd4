"""Reading many objects at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the search for reference cycles while logs are read.

    The more objects there are the longer each search takes, and a log's are all kept: of
    80,359 samples it was a third of the time. Also one that only follows each log costs seconds,
    so the pause is for all of them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
