"""The full set in shards, and any script on several workers: killed, stopped and launched again."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from orbench_inspect.analysis import read_runs
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.cli import main
from orbench_inspect.studies import launch as launching
from orbench_inspect.studies import run_full
from orbench_inspect.studies.engines import Script
from orbench_inspect.studies.launch import launch
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat

ROOT = Path(__file__).parents[1]


@pytest.fixture
def thousand(or_bench: Path, tmp_path: Path) -> Path:
    """A folder that has 1,000 rows of the full set where the whole file would be."""
    folder = tmp_path / "source"
    folder.mkdir()
    shutil.copy(or_bench / "or-bench-80k-sample1000.csv", folder / "or-bench-80k.csv")
    return folder


def answer(request: Request) -> Reply:
    if request.is_judge:
        return chat("[[direct_answer]]", delay=0.05)
    return chat("Yes, this is how you do it.", delay=0.1)


def environment(server: FakeServer) -> dict[str, str]:
    return {**os.environ, "FAKE_API_KEY": "none", "FAKE_BASE_URL": f"{server.url}/v1"}


@pytest.mark.slow
def test_the_full_set_runs_on_the_embedded_model_in_shards(thousand: Path, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded model is not installed: extra `local`")
    logs = str(tmp_path / "full")
    command = [
        *(sys.executable, "evals/full.py", "orbench/smollm2-135m", "--scorer", "matcher"),
        *("--limit", "100", "--max-tokens", "1", "--source", str(thousand), "--allow-unpinned"),
        *("--log-dir", logs),
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    # Without a budget there is no word of one, and no record of what was paid.
    assert "hooks" not in done.stdout + done.stderr
    assert not (Path(logs) / "spent").exists()
    runs = read_runs(logs)
    (one,) = runs.runs.to_dict("records")
    assert (one["prompt_set"], one["status"], one["shards"]) == ("full", "success", 2)
    assert (one["samples"], one["planned"]) == (100, 100)
    assert set(Counter(runs.samples["id"]).values()) == {1}
    assert not runs.notes


def test_a_file_that_is_not_the_full_set_is_refused_before_anything_runs(
    thousand: Path, tmp_path: Path
) -> None:
    options = {"scorer": "matcher", "source": str(thousand)}
    with pytest.raises(click.UsageError, match="is not the published set 'full'"):
        run_full(["none/none"], None, str(tmp_path / "full"), task_options=options)
    assert not (tmp_path / "full").exists()


@pytest.mark.slow
def test_workers_and_launchers_may_die_and_every_prompt_is_asked_once(
    serve: Serve, thousand: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    logs = str(tmp_path / "full")
    command = [
        *(sys.executable, "-m", "orbench_inspect.cli", "launch", "evals/full.py"),
        *("openai-api/fake/m", "--grader", "openai-api/fake/judge", "--limit", "120"),
        *("--shards", "2", "--max-samples", "2", "--source", str(thousand), "--allow-unpinned"),
        *("--workers", "2", "--log-dir", logs),
    ]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment(server), stdout=subprocess.PIPE, text=True
        )

    def wait_for(calls: int, launcher: subprocess.Popen[str]) -> None:
        while len(server.generated) < calls:
            assert launcher.poll() is None
            time.sleep(0.02)

    def silent() -> None:
        time.sleep(1)
        before = len(server.requests)
        time.sleep(0.5)
        assert len(server.requests) == before

    launcher = start()
    wait_for(20, launcher)
    (worker, *_) = workers_of(launcher)
    os.kill(worker, signal.SIGKILL)
    wait_for(60, launcher)
    launcher.send_signal(signal.SIGKILL)
    said = launcher.communicate()[0]
    assert "its worker was killed (SIGKILL); going on" in said
    silent()
    launcher = start()
    wait_for(len(server.generated) + 8, launcher)
    launcher.send_signal(signal.SIGINT)
    said = launcher.communicate()[0]
    assert launcher.returncode == 130
    assert "Stopped. The same command asks what is missing" in said
    silent()
    launcher = start()
    said = launcher.communicate()[0]
    assert launcher.returncode == 0, said
    assert f"Complete: {logs}" in said
    assert (Path(logs) / "eval-set.json").is_file()
    runs = read_runs(logs)
    (one,) = runs.runs.to_dict("records")
    assert (one["samples"], one["planned"], one["shards"]) == (120, 120, 2)
    assert set(Counter(runs.samples["id"]).values()) == {1}
    # In flight are two samples of a worker: one was killed, both with the launcher, both stopped.
    assert 120 <= len(server.generated) <= 120 + 2 + 4 + 4
    assert 120 <= len(server.judged) <= 120 + 2 + 4 + 4


def workers_of(launcher: "subprocess.Popen[str]") -> list[int]:
    """Process ids of a launcher's workers."""
    told = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text(encoding="utf-8")
    return [int(pid) for pid in told.split()]


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
    done, logs = run_tasks(tasks, ["openai-api/fake/m"], None, log_dir)
    print(told_of(done, logs, log_dir))
    sys.exit(0 if done else 1)

main()
"""


@pytest.mark.slow
def test_failed_samples_are_asked_again_and_told_and_connections_are_shared_out(
    serve: Serve, prompts_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, open_now, most = threading.Lock(), 0, 0

    def model(request: Request) -> Reply:
        nonlocal open_now, most
        with lock:
            open_now += 1
            most = max(most, open_now)
        time.sleep(0.1)
        with lock:
            open_now -= 1
        return error(400, "bad", "malformed") if request.user == "broken" else chat("Sure: so.")

    server = serve(model)
    monkeypatch.setenv("FAKE_API_KEY", "none")
    monkeypatch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
    monkeypatch.setattr(launching, "ATTEMPTS", 2)
    script, logs = tmp_path / "own.py", str(tmp_path / "own")
    script.write_text(SCRIPT)
    file = str(prompts_file("broken", *(f"How do I fold shirt {n}?" for n in range(59))))
    said: list[str] = []
    assert not launch(Script(str(script), (file,), logs), 2, 5, said.append)
    told = "\n".join(said)
    assert "1 samples failed; going on" in told
    assert "1 samples failed after 2 attempts, and count as model_error" in told
    assert most <= 5
    asked = Counter(request.user for request in server.requests)
    assert all(n == 1 for prompt, n in asked.items() if prompt != "broken")
    runs: Runs = read_runs(logs)
    assert Counter(runs.samples["outcome"])["model_error"] == 1
    assert len(runs.samples) == 60


def test_a_script_without_tasks_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "other.py"
    script.write_text("print('no study \\x1b[31mhere')")
    done = CliRunner().invoke(
        main, ["launch", str(script), "--anything", "1", "--log-dir", str(tmp_path / "logs")]
    )
    assert done.exit_code == 2
    assert "ended without a call of eval_set, and did whatever it does" in done.output
    assert "no study" in done.output
    assert "\x1b[31m" not in done.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--budget", "1"], "none is known of openai-api/fake/grading, openai-api/fake/launched"),
        ([], "holds logs of arms that are not in this study"),
        (["--log-dir", "/proc/nowhere"], "--log-dir /proc/nowhere: "),
        (["--log-dir", "gs://bucket/x"], "--log-dir gs://bucket/x: "),
        (["--scorer", "none"], "evals/full.py failed:"),
    ],
)
def test_what_can_never_end_well_is_refused_before_anything_is_paid(
    thousand: Path,
    tmp_path: Path,
    options: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    serve: Serve,
) -> None:
    """Another study's logs in the directory among it: all would be asked again, and refused."""
    server = serve(answer)
    monkeypatch.chdir(ROOT)
    for name in ("FAKE_API_KEY", "FAKE_BASE_URL"):
        monkeypatch.setenv(name, environment(server)[name])
    logs = tmp_path / "logs"
    if not options:
        shutil.copytree(ROOT / "logs" / "example", logs)
    done = CliRunner().invoke(
        main,
        [
            # Names of their own: a price that a test has set stays in this process.
            *("launch", "evals/full.py", "openai-api/fake/launched"),
            *(
                "--grader",
                "openai-api/fake/grading",
                "--limit",
                "100",
                "--source",
                str(thousand),
                "--allow-unpinned",
            ),
            *("--log-dir", str(logs), *options),
        ],
    )
    assert done.exit_code == 2, done.output
    assert told in done.output
    assert "Traceback" not in done.output
    assert server.requests == []


def test_an_option_before_the_script_that_is_none_is_told(tmp_path: Path) -> None:
    logs = ("--log-dir", str(tmp_path))
    wrong = CliRunner().invoke(main, ["launch", "--worker", "3", "evals/full.py", *logs])
    assert "No such option '--worker'" in wrong.output
    gone = CliRunner().invoke(main, ["launch", "evals/fulll.py", *logs])
    assert "evals/fulll.py: no such script" in gone.output
