"""Workers on the nodes of a Ray cluster: each is a process that a Ray task looks after."""

import logging
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from orbench_inspect.studies.capture import SELECTION
from orbench_inspect.studies.engines import Ended, Engine, Script, Start, ended
from orbench_inspect.studies.progress import local_path

if TYPE_CHECKING:
    from ray import ObjectRef

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Under `uv run` Ray would copy the working directory to all nodes, and run uv there.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # Of a lost node it would print the log; the launch says it in a line.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}

_SMALL = 80_000_000
"""Bytes for what tasks return, of a Ray of our own: they return a line."""

_MARK = ".orbench-launch-"


def ray_engine(address: str | None = None) -> Engine:
    """Start workers in a Ray cluster.

    Args:
        address: Of the cluster; None for the one that RAY_ADDRESS names, and without that for a
            Ray of this machine alone, which ends with the launch.

    Raises:
        ValueError: If Ray is not installed.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # noqa: F401 (only to see whether it is there)
    except ImportError as ex:
        raise ValueError(
            "--engine ray needs Ray, which is not installed: pip install 'orbench-inspect[ray]'"
        ) from ex
    return partial(_connected, address=address or os.environ.get("RAY_ADDRESS") or "local")


@contextmanager
def _connected(script: Script, address: str) -> Iterator[Start]:
    import ray

    own = address == "local"
    on_terminate = signal.getsignal(signal.SIGTERM)
    with _mark(script.log_dir) as mark:
        try:
            _must_answer(address)
            ray.init(
                address,
                include_dashboard=False if own else None,  # one that is there takes no settings
                object_store_memory=_SMALL if own else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (OSError, RuntimeError, ValueError) as ex:
            raise ValueError(f"no Ray to work with at {address}: {ex}") from ex
        signal.signal(signal.SIGTERM, on_terminate)  # Ray has set its own
        try:
            task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(_work())
            environment = {**os.environ, "INSPECT_DISPLAY": "none", **script.environment}
            here = partial(task.remote, script.command, environment, os.getcwd(), mark)
            yield lambda selection: RayWorker(here({SELECTION: selection}))
        finally:
            ray.shutdown()


def _must_answer(address: str) -> None:
    """Try an address such as `host:6379`: Ray itself would try it for a quarter of an hour."""
    found = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address)
    if found:
        socket.create_connection((found[1], int(found[2])), timeout=10).close()


@contextmanager
def _mark(log_dir: str) -> Iterator[str | None]:
    """A file in a log directory, by which a node can tell that it sees the same one."""
    path = local_path(log_dir)
    if path is None:
        yield None
        return
    folder = Path(path).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_MARK}*"):  # by a launch that was killed
        left.unlink(missing_ok=True)
    with NamedTemporaryFile(dir=folder, prefix=_MARK) as file:
        yield file.name


@dataclass(frozen=True)
class RayWorker:
    """A Ray task, and the process it looks after."""

    task: "ObjectRef[tuple[int | None, str]]"

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs or waits for a node."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        if not ray.wait([self.task], timeout=0)[0]:
            return None
        try:
            code, said = ray.get(self.task)
        except RayTaskError as ex:
            return Ended(False, str(ex).strip().splitlines()[-1][:300])
        except RayError as ex:
            return Ended(False, f"its node or Ray worker was lost ({type(ex).__name__})")
        return Ended(False, said, unfit=True) if code is None else ended(code, said)

    def interrupt(self) -> None:
        """Have it write its log and end."""
        import ray

        ray.cancel(self.task)

    def kill(self) -> None:
        """End it and what it has started."""
        import ray

        ray.cancel(self.task, force=True)


def _work() -> Callable[..., tuple[int | None, str]]:
    """What a node does for a worker.

    Ray sends a function in a function as it is. One of this module it would import on the node,
    and with it Inspect, which the process that is started there needs and its keeper does not.
    """

    def work(
        command: list[str],
        environment: dict[str, str],
        folder: str,
        mark: str | None,
        documents: dict[str, Any],
    ) -> tuple[int | None, str]:
        import json
        import os
        import signal
        import socket
        import subprocess
        import sys
        import tempfile
        import time

        for path in (folder, mark):
            if path is not None and not os.path.exists(path):
                place = os.path.dirname(path) if path == mark else path
                return None, (
                    f"node {socket.gethostname()} does not see {place}: the working directory and "
                    "--log-dir must be the same on every node (--log-dir may be a URL)"
                )
        with tempfile.TemporaryDirectory(prefix="orbench-worker-") as own:
            for variable, document in documents.items():
                environment[variable] = os.path.join(own, variable)
                with open(environment[variable], "w", encoding="utf-8") as file:
                    json.dump(document, file)
            output = os.path.join(own, "output")
            with open(output, "wb") as out:
                process = subprocess.Popen(
                    [sys.executable, *command],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.PIPE,  # ends with the Ray worker, and the process with it
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            try:
                while process.poll() is None:
                    time.sleep(0.2)
            except KeyboardInterrupt:  # the task is cancelled
                os.killpg(process.pid, signal.SIGINT)
                process.wait()
            with open(output, encoding="utf-8", errors="replace") as file:
                lines = file.read().strip().splitlines() or [""]
            return process.returncode, lines[-1].strip()[:300]

    return work
