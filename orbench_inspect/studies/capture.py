"""The tasks of a study's script, without running them: Inspect's capture of an eval set."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CAPTURE, SELECTION = "INSPECT_EVAL_SET_CAPTURE", "INSPECT_EVAL_SET_SELECTION"
"""Variables under which a script writes down its tasks, or runs one of them."""

ERROR = re.compile(r"^[\w.]*(?:Error|Exception|Exit)\b.*", re.MULTILINE)
"""A line that tells an error."""

_VERSION = 3


@dataclass(frozen=True)
class CapturedTask:
    """One task of an eval set, under one model."""

    identifier: str
    name: str
    registry_name: str
    passed: dict[str, Any]
    """The arguments that the script gave the task."""
    args: dict[str, Any]
    """All of its arguments, defaults included."""
    args_hash: str
    model: str
    roles: dict[str, tuple[str, ...]]
    """Models by role; several are a panel."""
    samples: int
    """Prompts it will ask, each `epochs` times."""
    epochs: int

    @property
    def models(self) -> set[str]:
        """All that it calls."""
        return {self.model, *(name for names in self.roles.values() for name in names)}


def captured(script: str, args: Sequence[str]) -> list[CapturedTask]:
    """Start a script that calls `eval_set`, and stop it where the tasks are known.

    Nothing is sent and no log directory is touched. Models are created, which for some needs a
    key in the environment, though it is not used.

    Args:
        script: The script.
        args: Its arguments.

    Raises:
        ValueError: If the script fails, or ends without an eval set.
    """
    if not Path(script).is_file():
        raise ValueError(f"{script}: no such script; name one that calls eval_set")
    with TemporaryDirectory() as folder:
        manifest = Path(folder) / "manifest.json"
        env = {**os.environ, CAPTURE: str(manifest)}
        env.pop(SELECTION, None)
        command = [sys.executable, script, *args]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not manifest.exists():
            failed = str(untold(script, done.returncode, done.stderr or done.stdout))
            if "API_KEY" in failed:
                failed += (
                    "\nNothing is sent for a plan: any value will do for a key that is missing"
                )
            raise ValueError(failed)
        return read_manifest(manifest).tasks


def untold(script: str, code: int, said: str) -> ValueError:
    """Why a script did not tell its tasks.

    Args:
        script: The script.
        code: Its exit code.
        said: What it printed.
    """
    if code:
        return ValueError(f"{script} failed:\n{why(said)}")
    return ValueError(
        f"{script} ended without a call of eval_set, and did whatever it does: only the tasks of a "
        "script that calls eval_set once, as those in evals/ do, can be known before they run. "
        f"It printed:\n{said.strip()[-500:]}"
    )


@dataclass(frozen=True)
class Manifest:
    """What a script writes down of its eval set."""

    tasks: list[CapturedTask]
    log_dir: str


def read_manifest(path: Path) -> Manifest:
    """Read what a script wrote under `CAPTURE`.

    Raises:
        ValueError: If this Inspect writes it in a form that is not known.
    """
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["version"] != _VERSION:
        raise ValueError(
            f"this Inspect describes eval sets in version {found['version']}, where {_VERSION} is "
            "known: install a version of orbench-inspect made for it"
        )
    return Manifest([_task(told) for told in found["tasks"]], found["options"]["log_dir"])


def _task(told: dict[str, Any]) -> CapturedTask:
    # What is None is left out.
    roles = told.get("model_roles", {})
    return CapturedTask(
        identifier=told["identifier"],
        name=told["name"],
        registry_name=told.get("registry_name", told["name"]),
        passed=told["args"],
        args=told.get("args_full", told["args"]),
        args_hash=told["args_hash"],
        model=told["model"],
        roles={role: tuple(models.split(",")) for role, models in roles.items()},
        samples=told["samples"],
        epochs=told["epochs"],
    )


def why(said: str) -> str:
    """The error in what a script printed, where a traceback or other lines stand before it."""
    errors = list(ERROR.finditer(said))
    told = said[errors[-1].start() :] if errors else said
    told = re.sub(r"\[/?(?:bold|blue)\]", "", told).strip()[-1500:]
    return told
