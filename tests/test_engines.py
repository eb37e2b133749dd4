"""A launch on the nodes of a Ray cluster, one of which is lost; and a launch in parts."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import fsspec
import pytest
from click.testing import CliRunner
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalSpec,
)

from orbench_inspect.analysis import read_runs
from orbench_inspect.cli import main
from orbench_inspect.studies import launch as launching
from orbench_inspect.studies.capture import CapturedTask
from orbench_inspect.studies.engines import Ended, Script
from orbench_inspect.studies.launch import launch
from orbench_inspect.studies.progress import Work
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request
from tests.fakes.openai import chat

SCRIPT = """
import sys
import click
from orbench_inspect.studies.study import run_tasks, told_of
from orbench_inspect.tasks import custom

@click.command()
@click.argument("file")
@click.option("--log-dir")
def main(file, log_dir):
    tasks = [custom(file=file, wanted="answer", scorer="matcher", shard=f"{k}/2") for k in (1, 2)]
    done, logs = run_tasks(tasks, ["openai-api/fake/m"], None, log_dir, max_samples=2)
    print(told_of(done, logs, log_dir))
    sys.exit(0 if done else 1)

main()
"""


class Launches:
    """Launches of a script with two tasks, against a server."""

    def __init__(self, server: FakeServer, folder: Path, prompts: Path) -> None:
        self.server, self.logs = server, folder / "logs"
        (folder / "two.py").write_text(SCRIPT, encoding="utf-8")
        self.script = [str(folder / "two.py"), str(prompts)]
        self.environment = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": f"{server.url}/v1"}

    def start(self, *options: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "orbench_inspect.cli", "launch", *self.script, *options]
        return subprocess.Popen(
            command,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_for(self, calls: int, launcher: "subprocess.Popen[str]") -> None:
        while len(self.server.requests) < calls:
            assert launcher.poll() is None, launcher.communicate()[0]
            time.sleep(0.02)

    def workers(self) -> list[str]:
        """Processes that run tasks, wherever they were started."""
        told = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists()]
        mine = [line.replace(b"\0", b" ").decode() for line in told if b"studies.worker" in line]
        return [line for line in mine if self.script[0] in line]

    def asked_once(self, prompts: int) -> bool:
        runs = read_runs(str(self.logs))
        (one,) = runs.runs.to_dict("records")
        assert (one["samples"], one["planned"], one["shards"]) == (prompts, prompts, 2)
        return set(Counter(runs.samples["id"]).values()) == {1}


@pytest.fixture
def launches(serve: Serve, prompts_file: Write, tmp_path: Path) -> Launches:
    def answer(request: Request) -> Reply:
        return chat("Sure: you do it like this.", delay=0.2)

    file = prompts_file(*(f"How do I fold shirt {n}?" for n in range(80)))
    return Launches(serve(answer), tmp_path, file)


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A Ray of two nodes that work."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    small = {"object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, **small}, shutdown_at_exit=False
    )
    try:
        cluster.nodes = [cluster.add_node(num_cpus=1, **small) for _ in range(2)]
        yield cluster
    finally:
        cluster.shutdown()


@pytest.mark.slow
def test_a_node_may_be_lost_and_every_prompt_is_asked_once(
    cluster: Any, launches: Launches
) -> None:
    on_ray = ("--engine", "ray", "--address", cluster.address, "--log-dir", str(launches.logs))
    launcher = launches.start(*on_ray)
    launches.wait_for(32, launcher)
    cluster.remove_node(cluster.nodes[1], allow_graceful=False)
    said = launcher.communicate()[0]
    assert launcher.returncode == 0, said
    assert said.count("its node or Ray worker was lost") == 1
    assert "raylet" not in said
    assert not launches.workers()
    assert launches.asked_once(80)
    assert (launches.logs / "eval-set.json").is_file()
    # In flight are two samples of the worker that is lost, and four it may not have written.
    assert 80 <= len(launches.server.requests) <= 80 + 2 + 4
    assert not list(launches.logs.glob(".orbench-*"))


@pytest.mark.slow
def test_parts_are_jobs_of_their_own_and_the_last_one_writes_the_records(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in launches.environment.items():
        monkeypatch.setenv(name, value)

    def part(which: str) -> tuple[int, str]:
        where = ("--log-dir", f"file://{launches.logs}")
        options = [*launches.script, "--workers", "1", "--part", which, *where]
        done = CliRunner().invoke(main, ["launch", *options])
        return done.exit_code, done.output

    code, said = part("2/2")
    assert code == 0
    assert "Part 2/2 is done; 1 tasks of other parts are not complete yet" in said
    assert len(launches.server.requests) == 40
    assert not (launches.logs / "eval-set.json").exists()
    code, said = part("1/2")
    assert code == 0
    assert "Complete: file://" in said
    assert (launches.logs / "eval-set.json").is_file()
    assert launches.asked_once(80)
    assert len(launches.server.requests) == 80


def test_a_log_that_the_launch_does_not_see_stops_it(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OnAnotherDisk:
        begun = 0

        def __init__(self, selection: dict[str, Any]) -> None:
            OnAnotherDisk.begun += 1

        def poll(self) -> Ended:
            return Ended(True, "")

    @contextmanager
    def elsewhere(script: Script) -> Iterator[Any]:
        yield OnAnotherDisk

    for name, value in launches.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(launching, "_LATE", 0)
    path, *arguments = launches.script
    script = Script(path, tuple(arguments), str(launches.logs))
    with pytest.raises(ValueError, match="as this launch sees it"):
        launch(script, 1, engine=elsewhere)
    assert OnAnotherDisk.begun == 1


def test_a_log_at_a_url_is_resumed_where_it_holds_most() -> None:
    logs = []
    for minute, samples in ((1, 3), (2, 1)):
        location = f"memory://logs/{minute}.eval"
        with fsspec.open(location, "wb") as file, ZipFile(file, "w") as zipped:
            for n in range(samples):
                zipped.writestr(f"samples/{n}.json", "{}")
        spec = EvalSpec(
            created=f"2026-01-01T00:0{minute}:00+00:00",
            task="custom",
            dataset=EvalDataset(),
            model="none/none",
            config=EvalConfig(),
        )
        logs.append(EvalLog(eval=spec, location=location))
    captured = CapturedTask("1", "custom", "custom", {}, {}, "", "none/none", {}, 5, 1)
    work = Work(captured, logs=logs)
    assert work.done() == 3
    assert work.to_resume() == "memory://logs/1.eval"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--engine", "ray"),
            "needs Ray, which is not installed: pip install 'orbench-inspect[ray]'",
        ),
        (("--address", "head:6379"), "add --engine ray"),
        (("--part", "3/2"), "which of how many, such as 3/10"),
    ],
)
def test_what_cannot_be_launched_is_told_before_anything_starts(
    options: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    script = tmp_path / "never.py"
    script.write_text("raise SystemExit('started')")
    done = CliRunner().invoke(main, ["launch", str(script), *options, "--log-dir", str(tmp_path)])
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", "").split())
