"""What the tests share: the real prompts, an empty environment, and a way to run a task."""

import csv
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.fakes.server import FakeServer, Reply, Request, serving

_SHARED = Path(os.environ.get("ORBENCH_SHARED_DATA", Path(__file__).parents[2] / "shared/data"))

# Where tests run in the background Ctrl-C may be ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first, so that no worker waits for the other at the end."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No display, no network for data, and logs where they vanish."""
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("ORBENCH_DATA_DIR", "INSPECT_EVAL_MODEL", "INSPECT_EVAL_MODEL_ROLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def or_bench() -> Path:
    """Folder with the real OR-Bench files."""
    return _shared("or_bench")


@pytest.fixture
def xstest() -> Path:
    """Folder with XSTest's human-labelled responses."""
    return _shared("xstest")


def _shared(name: str) -> Path:
    if not (_SHARED / name).is_dir():
        pytest.skip(f"no real data at {_SHARED / name}: set ORBENCH_SHARED_DATA")
    return _SHARED / name


Write = Callable[..., Path]
Serve = Callable[[Callable[[Request], Reply]], FakeServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a scripted server; it stops with the test."""
    running: list[AbstractContextManager[FakeServer]] = []

    def start(answer: Callable[[Request], Reply]) -> FakeServer:
        running.append(serving(answer))
        return running[-1].__enter__()

    yield start
    for server in running:
        server.__exit__(None, None, None)


@pytest.fixture
def grading(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Start a server whose models the command line can reach, as `openai-api/fake/NAME`."""

    def start(answer: Callable[[Request], Reply]) -> FakeServer:
        server = serve(answer)
        monkeypatch.setenv("FAKE_API_KEY", "none")
        monkeypatch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
        return server

    return start


@pytest.fixture
def prompts_file(tmp_path: Path) -> Write:
    """Write a csv file of prompts, one category unless told."""

    def write(*prompts: str, name: str = "mine.csv", category: str = "test") -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([("prompt", "category"), *((p, category) for p in prompts)])
        return path

    return write
