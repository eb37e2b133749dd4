"""Where the workers of a launch run: what its one loop asks of an engine.

An engine starts a worker for one task, and the loop looks whether it has ended, and ends it.
"""

import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Script:
    """A script that calls `eval_set`, and takes `--log-dir`."""

    path: str
    arguments: tuple[str, ...]
    log_dir: str
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set beside those of this process."""

    @property
    def command(self) -> list[str]:
        """What a worker's Python is called with."""
        return [
            *("-m", "orbench_inspect.studies.worker", self.path),
            *(*self.arguments, "--log-dir", self.log_dir),
        ]


@dataclass(frozen=True)
class Ended:
    """How a worker ended."""

    well: bool
    """Whether it came to its end: its log tells how the task is."""
    why: str
    """What a person should know of it, in a line."""
    unfit: bool = False
    """Whether it was not begun, and where it was to run no other could be."""


class Worker(Protocol):
    """A process that runs one task."""

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs."""

    def interrupt(self) -> None:
        """Have it write its log and end."""

    def kill(self) -> None:
        """End it and what it has started."""


Start = Callable[[dict[str, Any]], Worker]
"""Starts a worker for what a selection document says."""

Engine = Callable[[Script], AbstractContextManager[Start]]
"""Makes ready to start workers of a script; what it needed ends with the block."""


def ended(code: int, said: str) -> Ended:
    """How a process ended.

    Args:
        code: Its exit code, or the signal that killed it, negative.
        said: The last line it printed.
    """
    if code < 0:
        return Ended(False, f"its worker was killed ({signal.Signals(-code).name})")
    return Ended(code == 0, said or f"exit code {code}")
