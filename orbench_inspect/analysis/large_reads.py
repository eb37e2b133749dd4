"""Reading many objects at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the search for reference cycles while a log is read.

    The more objects there are the longer each search takes, and a log's are all kept: of
    80,359 samples it was a third of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
