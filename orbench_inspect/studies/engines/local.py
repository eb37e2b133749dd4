"""Workers on this machine: processes, each in a group of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orbench_inspect.studies.capture import ERROR, SELECTION, why
from orbench_inspect.studies.engines import Ended, Script, Start, ended


@contextmanager
def local(script: Script) -> Iterator[Start]:
    """Start workers of a script on this machine."""
    with TemporaryDirectory(prefix="orbench-launch-") as name:
        numbers = count()

        def start(selection: dict[str, Any]) -> LocalWorker:
            path = Path(name) / f"selection{next(numbers)}.json"
            path.write_text(json.dumps(selection), encoding="utf-8")
            return LocalWorker(script, path.with_suffix(".out"), **{SELECTION: str(path)})

        yield start


class LocalWorker:
    """A process that ends with this one, and what it has started with it.

    Args:
        script: What it runs.
        output: Where to what it prints goes.
        **environment: Variables to set.
    """

    def __init__(self, script: Script, output: Path, **environment: str) -> None:
        self.output = output
        with output.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, *script.command],
                env={**os.environ, "INSPECT_DISPLAY": "none", **script.environment, **environment},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs."""
        code = self.process.poll()
        return None if code is None else ended(code, in_a_line(self.said()))

    def interrupt(self) -> None:
        """Have it write its log and end."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End it and what it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def said(self) -> str:
        """All it has printed."""
        return self.output.read_text(encoding="utf-8", errors="replace").strip()


def run_here(script: Script, **environment: str) -> tuple[int, str]:
    """Run the script itself to its end.

    Args:
        script: The script.
        **environment: Variables to set.

    Returns:
        Its exit code, and what it printed.
    """
    with TemporaryDirectory(prefix="orbench-launch-") as name:
        worker = LocalWorker(script, Path(name) / "out", **environment)
        try:
            return worker.process.wait(), worker.said()
        finally:
            if worker.poll() is None:
                worker.kill()


def in_a_line(said: str) -> str:
    """What a worker printed last: its error, where it printed one."""
    told = why(said) if ERROR.search(said) else said.strip().rpartition("\n")[2]
    return " ".join(told.split())[:300]
