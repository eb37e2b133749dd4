"""The documents by which Inspect lets an outside runner run the tasks of an eval set.

Under INSPECT_EVAL_SET_CAPTURE a script writes down its tasks and ends, and under
INSPECT_EVAL_SET_SELECTION it runs one of them. The documents are versioned; what is written here
is tried with the version of Inspect named below.
"""

import os
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orbench_inspect.studies.capture import CAPTURE, read_manifest, untold
from orbench_inspect.studies.engines import Script
from orbench_inspect.studies.engines.local import run_here
from orbench_inspect.studies.progress import Work, local_path

NEEDS_INSPECT = (0, 3, 285)
"""Older ones may not know the documents, and would run the whole script instead."""

_PROTOCOL = 7


def must_know_documents() -> None:
    """Check that the installed Inspect knows the documents.

    Raises:
        ValueError: If it is too old.
    """
    found = version("inspect_ai")
    numbers = tuple(int(part) for part in found.split(".")[:3] if part.isdigit())
    if numbers < NEEDS_INSPECT:
        needed = ".".join(map(str, NEEDS_INSPECT))
        raise ValueError(f"launch needs inspect-ai {needed} or later, and this is {found}")


def tasks_of(script: Script) -> list[Work]:
    """The tasks of a script, as it tells them itself.

    Raises:
        ValueError: If it does not, or its logs could not be told apart.
    """
    with TemporaryDirectory(prefix="orbench-launch-") as name:
        path = Path(name) / "capture.json"
        status, said = run_here(script, **{CAPTURE: str(path)})
        if status or not path.is_file():
            raise untold(script.path, status, said)
        captured = read_manifest(path)
    if _place(captured.log_dir) != _place(script.log_dir):
        raise ValueError(
            f"{script.path} writes to {captured.log_dir}, and not where --log-dir says"
        )
    if len({task.identifier for task in captured.tasks}) < len(captured.tasks):
        raise ValueError(
            f"{script.path} has tasks of one name, model and arguments: their logs could not be "
            "told apart. Give them arguments that differ, such as replicate="
        )
    return [Work(task) for task in captured.tasks]


def selection(script: Script, work: Work, connections: int, elsewhere: bool) -> dict[str, Any]:
    """The document that has a worker run one task.

    Args:
        script: The script.
        work: The task.
        connections: To the evaluated model; 0 for what the script says.
        elsewhere: Whether who goes on with it may be on another machine.
    """
    told = work.captured
    named = {"identifier": told.identifier, "registry_name": told.registry_name}
    named["args_hash"] = told.args_hash
    task = {name: value for name, value in named.items() if value}
    if resume := work.to_resume():
        task["resume"] = resume
    # On this machine each sample that is finished outlives its worker, by Inspect's realtime
    # buffer. On others only what is written does: more often, though the whole log is written
    # each time, and the buffer, of no use there, pays for it.
    overrides: dict[str, Any] = {
        "log_realtime": not elsewhere,
        "log_buffer": max(5, work.total // (400 if elsewhere else 100)),
        # Metrics of a task that runs: nobody sees them.
        "score_display": False,
    }
    if connections:
        overrides["generate_config"] = {"max_connections": connections}
    return {
        "version": _PROTOCOL,
        "eval_set_id": sha256(_place(script.log_dir).encode()).hexdigest()[:22],
        "tasks": [task],
        "overrides": overrides,
    }


def _place(log_dir: str) -> str:
    path = local_path(log_dir)
    return log_dir.rstrip("/") if path is None else os.path.abspath(path)
