"""Any `eval_set` script on several worker processes, one task each.

Inspect lets an outside runner do this: under INSPECT_EVAL_SET_CAPTURE a script writes down its
tasks and ends, and under INSPECT_EVAL_SET_SELECTION it runs one of them. The documents are
versioned; what is written here is tried with the version of Inspect named below.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orbench_inspect.budget import Budget
from orbench_inspect.studies.capture import CAPTURE, SELECTION, read_manifest
from orbench_inspect.studies.progress import Work, find_logs, one_line

NEEDS_INSPECT = (0, 3, 285)
"""Older ones may not know the documents, and would run the whole script instead."""

ATTEMPTS = 3
"""Times a task is begun before it is given up."""

_PROTOCOL = 7
_LOOK = 0.2
_COUNT = 5.0
_GRACE = 15.0


@dataclass(frozen=True)
class Script:
    """A script that calls `eval_set`, and takes `--log-dir`."""

    path: str
    arguments: tuple[str, ...]
    log_dir: str

    def start(self, output: Path, **environment: str) -> "subprocess.Popen[bytes]":
        """Start it in a process group of its own, which ends with this process.

        Args:
            output: Where to what it prints goes.
            **environment: Variables to set.
        """
        with output.open("wb") as out:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "orbench_inspect.studies.worker", self.path),
                    *(*self.arguments, "--log-dir", self.log_dir),
                ],
                env={**os.environ, "INSPECT_DISPLAY": "none", **environment},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def launch(
    script: Script,
    workers: int,
    max_connections: int | None = None,
    show: Callable[[str], None] = print,
    progress: Callable[[str], None] = lambda line: None,
    budget: Budget | None = None,
) -> bool:
    """Run a script's tasks, or what is left of them.

    A worker that is lost is replaced, and goes on from the log it left. Interrupted in any way,
    the workers end; launched again, what was finished is not asked again.

    Args:
        script: The script.
        workers: Processes at once.
        max_connections: Of the evaluated model, all workers together, shared out evenly; None
            for Inspect's own limit in each.
        show: Told what a person should read.
        progress: Told, over and over, where the launch stands.
        budget: What the study may cost, or only its prices.

    Returns:
        Whether every sample of every task is there and none failed.

    Raises:
        ValueError: If the script's tasks cannot be told, or Inspect is too old.
    """
    _must_know_protocol()
    with TemporaryDirectory(prefix="orbench-launch-") as name:
        folder = Path(name)
        works = _captured(script, folder)
        find_logs(works, script.log_dir)
        workers = min(workers, len(works), max_connections or workers)
        budget = budget or Budget(None, script.log_dir)
        if uncounted := budget.uncounted():
            show(uncounted)
        pool = _Pool(script, folder, works, workers, max_connections, show, budget)
        try:
            pool.run(progress)
        finally:
            pool.stop()
        find_logs(works, script.log_dir)
        if not all(work.finished for work in works):
            lost = ", ".join(work.label for work in works if not work.finished)
            spent = budget.is_spent()
            ended = budget.how_it_ended() if spent else "The same command asks what is missing"
            show(f"Not complete: {lost}\n{ended}")
            return False
        # The script itself finds every task done, asks nothing and writes the set's records.
        status, said = _run(script, folder / "last", **budget.environment())
        show(said.strip())
        if failed := sum(work.failed for work in works):
            show(f"{failed} samples failed after {ATTEMPTS} attempts, and count as model_error")
        return status == 0 and not failed


class _Pool:
    """Workers at their tasks."""

    def __init__(
        self,
        script: Script,
        folder: Path,
        works: Sequence[Work],
        workers: int,
        max_connections: int | None,
        show: Callable[[str], None],
        budget: Budget,
    ) -> None:
        self.script, self.folder, self.works, self.show = script, folder, works, show
        self.budget = budget
        self.slots = dict.fromkeys(range(workers), 0)
        if max_connections is not None:
            share, rest = divmod(max_connections, workers)
            self.slots = {slot: share + (slot < rest) for slot in range(workers)}
        self.running: dict[int, tuple[subprocess.Popen[bytes], Work]] = {}

    def run(self, progress: Callable[[str], None]) -> None:
        """Run until every task is complete or given up."""
        waiting = [work for work in self.works if not work.complete]
        before, begun, counted = sum(w.done() for w in self.works), time.monotonic(), 0.0
        while waiting or self.running:
            for slot in self.slots.keys() - self.running.keys():
                if waiting and self.budget.is_spent():
                    waiting.clear()
                if waiting:
                    self.running[slot] = self._begin(waiting.pop(0), slot)
            time.sleep(_LOOK)
            ended = {s: (p, w) for s, (p, w) in self.running.items() if p.poll() is not None}
            for slot in ended:
                del self.running[slot]
            if ended or time.monotonic() - counted > _COUNT:
                find_logs(self.works, self.script.log_dir)
                counted = time.monotonic()
                line = one_line(self.works, len(self.running), counted - begun, before)
                progress(line + self.budget.told())
            waiting += [w for slot, (p, w) in ended.items() if self._again(slot, p, w)]

    def _begin(self, work: Work, slot: int) -> "tuple[subprocess.Popen[bytes], Work]":
        work.attempts += 1
        path = self.folder / f"selection{slot}.json"
        path.write_text(json.dumps(_selection(self.script, work, self.slots[slot])))
        told = {SELECTION: str(path), **self.budget.environment()}
        return self.script.start(self.folder / f"worker{slot}", **told), work

    def _again(self, slot: int, process: "subprocess.Popen[bytes]", work: Work) -> bool:
        """Whether a task whose worker has ended is to be begun again."""
        if work.complete or self.budget.is_spent():
            return False
        if work.finished:
            why = f"{work.failed} samples failed"
        elif process.returncode < 0:
            why = f"its worker was killed ({signal.Signals(-process.returncode).name})"
        else:
            why = _tail(self.folder / f"worker{slot}") or f"exit code {process.returncode}"
        again = work.attempts < ATTEMPTS
        self.show(f"{work.label}: {why}{'; going on' if again else '; given up'}")
        return again

    def stop(self) -> None:
        """End the workers that are left: gently, so that each writes its log, then by force."""
        left = [process for process, _ in self.running.values() if process.poll() is None]
        for process in left:
            os.killpg(process.pid, signal.SIGINT)
        until = time.monotonic() + _GRACE
        for process in left:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.running.clear()


def _selection(script: Script, work: Work, connections: int) -> dict[str, Any]:
    """The document that has a worker run one task."""
    told = work.captured
    named = {"identifier": told.identifier, "registry_name": told.registry_name}
    named["args_hash"] = told.args_hash
    task = {name: value for name, value in named.items() if value}
    if resume := work.to_resume():
        task["resume"] = resume
    overrides: dict[str, Any] = {
        # Each sample that is finished outlives its worker on this machine; on others those
        # that are written, a hundredth of the task at a time, since all is written each time.
        "log_realtime": True,
        "log_buffer": max(5, work.total // 100),
    }
    if connections:
        overrides["generate_config"] = {"max_connections": connections}
    return {
        "version": _PROTOCOL,
        "eval_set_id": sha256(os.path.abspath(script.log_dir).encode()).hexdigest()[:22],
        "tasks": [task],
        "overrides": overrides,
    }


def _captured(script: Script, folder: Path) -> list[Work]:
    path = folder / "capture.json"
    status, said = _run(script, folder / "capture", **{CAPTURE: str(path)})
    if status or not path.is_file():
        raise ValueError(
            f"{script.path} did not tell its tasks (exit code {status}); it must call eval_set "
            f"and take --log-dir:\n{said.strip()[-2000:]}"
        )
    captured = read_manifest(path)
    if os.path.abspath(captured.log_dir) != os.path.abspath(script.log_dir):
        raise ValueError(
            f"{script.path} writes to {captured.log_dir}, and not where --log-dir says"
        )
    known = {json.dumps([task.name, task.model, task.passed]) for task in captured.tasks}
    if len(known) < len(captured.tasks):
        raise ValueError(
            f"{script.path} has tasks of one name, model and arguments: their logs could not be "
            "told apart. Give them arguments that differ, such as replicate="
        )
    return [Work(task) for task in captured.tasks]


def _run(script: Script, output: Path, **environment: str) -> tuple[int, str]:
    process = script.start(output, **environment)
    try:
        return process.wait(), output.read_text(encoding="utf-8", errors="replace")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _tail(output: Path) -> str:
    """The last line a worker printed."""
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""


def _must_know_protocol() -> None:
    found = version("inspect_ai")
    numbers = tuple(int(part) for part in found.split(".")[:3] if part.isdigit())
    if numbers < NEEDS_INSPECT:
        needed = ".".join(map(str, NEEDS_INSPECT))
        raise ValueError(f"launch needs inspect-ai {needed} or later, and this is {found}")
