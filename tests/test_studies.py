"""Studies: arms over the same prompts, killed and resumed."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from inspect_ai import eval, eval_retry
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from orbench_inspect.studies import NOISE_FLOOR, SIX_ARMS, Arm, run_study
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import model_at

ROOT = Path(__file__).parents[1]


def answer(request: Request) -> Reply:
    if request.user.endswith("word of the day?"):
        return chat("It is pelican.")
    return chat("Yes, this is how you do it.", delay=0.1)


def newest(log_dir: Path) -> list[EvalLog]:
    """The newest log of each task: a killed attempt leaves its own behind."""
    logs: dict[str, EvalLog] = {}
    for info in list_eval_logs(str(log_dir)):
        log = read_eval_log(info)
        known = logs.get(log.eval.task_id)
        if known is None or log.eval.created > known.eval.created:
            logs[log.eval.task_id] = log
    return list(logs.values())


def test_every_arm_is_asked_the_same_prompts_in_the_same_order(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    done, logs = run_study(
        [model_at(server)],
        None,
        str(tmp_path / "study"),
        n_hard=4,
        n_toxic=3,
        task_options={"source": str(or_bench)},
    )
    assert done
    assert len(logs) == 14
    asked = {"hard": set[str](), "toxic": set[str]()}
    arms: Counter[tuple[str, int]] = Counter()
    for log in logs:
        recorded = (log.eval.metadata or {})["orbench"]
        arms[recorded["mitigation"], recorded["replicate"]] += 1
        asked[recorded["prompt_set"]].add(recorded["prompts_sha256"])
    assert arms == {(arm.mitigation, arm.replicate): 2 for arm in (*SIX_ARMS, NOISE_FLOOR)}
    assert {name: len(hashes) for name, hashes in asked.items()} == {"hard": 1, "toxic": 1}


def test_the_second_baseline_is_never_served_from_a_cache(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    for arm, calls in ((Arm("none"), 3), (Arm("none", 2), 3), (Arm("none", 3), 3)):
        before = len(server.requests)
        run_study(
            [model_at(server)],
            None,
            str(tmp_path / f"study{arm.replicate}"),
            arms=[arm],
            n_hard=2,
            n_toxic=1,
            task_options={"source": str(or_bench)},
            cache=True,
        )
        assert len(server.requests) - before == calls
    before = len(server.requests)
    options = {"source": str(or_bench)}
    run_study(
        [model_at(server)], None, str(tmp_path / "b"), [Arm("none")], 2, 1, options, cache=True
    )
    assert len(server.requests) == before


def test_a_changed_text_is_refused_in_the_same_directory(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    own = tmp_path / "own.md"

    def study() -> bool:
        return run_study(
            [model_at(server)],
            None,
            str(tmp_path / "study"),
            arms=[Arm(str(own))],
            n_hard=2,
            n_toxic=1,
            task_options={"source": str(or_bench)},
        )[0]

    own.write_text("Be kind.")
    assert study()
    before = len(server.requests)
    assert study()
    assert len(server.requests) == before
    own.write_text("Be kinder.")
    with pytest.raises(click.UsageError, match="take a new --log-dir"):
        study()
    assert len(server.requests) == before


def test_equal_arms_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="two arms are called 'none'"):
        run_study(["none/none"], None, str(tmp_path), arms=[Arm("none"), Arm("none")])


def test_files_of_one_name_are_not_one_arm(tmp_path: Path) -> None:
    arms = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.md").write_text(f"Be {folder}.")
        arms.append(Arm(str(tmp_path / folder / "p.md")))
    with pytest.raises(click.UsageError, match="two arms are called 'p'; give files ids"):
        run_study(["none/none"], None, str(tmp_path / "study"), arms=arms)


def test_a_text_changed_before_a_retry_is_not_mixed(
    serve: Serve, prompts_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = True

    def model(request: Request) -> Reply:
        if broken and request.user == "broken":
            return error(400, "bad", "malformed")
        return answer(request)

    server = serve(model)
    monkeypatch.setenv("FAKE_API_KEY", "none")
    monkeypatch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
    own = tmp_path / "own.md"
    own.write_text("Be kind.")
    path = str(prompts_file("broken", "one", "two"))
    task = custom(file=path, wanted="answer", scorer="matcher", mitigation=str(own))
    log = eval(task, model=model_at(server))[0]
    assert log.status == "error"
    broken = False
    own.write_text("Be cruel.")
    again = eval_retry(log)[0]
    assert again.status == "error"
    assert again.error is not None
    assert "asked under another mitigation text" in again.error.message


def started(
    server: FakeServer, *options: str, stdout: int = subprocess.DEVNULL
) -> "subprocess.Popen[str]":
    """Start a study of mitigations of a model of the server."""
    command = [sys.executable, "evals/mitigations.py", "openai-api/fake/m", "--matcher"]
    command += ["--max-samples", "2", *options]
    env = {**os.environ, "FAKE_API_KEY": "none", "FAKE_BASE_URL": f"{server.url}/v1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=env, text=True, stdout=stdout, stderr=subprocess.DEVNULL
    )


def signalled(process: "subprocess.Popen[str]", number: int, when: Callable[[], bool]) -> None:
    """Signal a process that is still at work."""
    while not when():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)


@pytest.mark.slow
def test_a_study_killed_and_run_again_asks_each_prompt_once(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    options = ["--arms", "none,placebo,self_reminder", "--limit", "30", "--toxic-limit", "20"]
    options += ["--source", str(or_bench), "--log-dir", str(tmp_path / "study")]

    def launch() -> "subprocess.Popen[str]":
        return started(server, *options)

    def asked() -> int:
        return sum(not r.user.endswith("word of the day?") for r in server.requests)

    process = launch()
    signalled(process, signal.SIGKILL, lambda: asked() >= 60)
    process.wait()
    time.sleep(0.5)
    killed_at = asked()
    assert killed_at < 200
    assert launch().wait() == 0
    logs = newest(tmp_path / "study")
    seen = Counter(
        ((log.eval.metadata or {})["orbench"]["mitigation"], log.eval.task_args["replicate"], s.id)
        for log in logs
        for s in log.samples or []
    )
    assert len(seen) == 4 * (30 + 20)
    assert set(seen.values()) == {1}
    # What was in flight is asked again: at most two samples in each of the eight tasks.
    assert 200 <= asked() <= 200 + 2 * 8
    before = asked()
    assert launch().wait() == 0
    assert asked() == before


def test_what_is_interrupted_is_not_called_complete(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    options = ["--arms", "none", "--limit", "200", "--source", str(or_bench)]
    options += ["--log-dir", str(tmp_path / "study")]
    process = started(server, *options, stdout=subprocess.PIPE)
    signalled(process, signal.SIGINT, lambda: len(server.requests) >= 20)
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "Not complete; the same command asks what is missing" in said


@pytest.mark.parametrize("script", ["mitigations.py", "models.py"])
def test_the_scripts_explain_themselves_and_their_mistakes(script: str, or_bench: Path) -> None:
    def say(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, f"evals/{script}", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    code, said = say("--help")
    assert code == 0
    assert "--log-dir" in said
    code, said = say("mockllm/model")
    assert code == 2
    assert "give either --grader PROVIDER/MODEL or --matcher" in said
    code, said = say("nowhere/model", "--matcher", "--source", str(or_bench))
    assert code == 2
    assert "Model API nowhere of model 'nowhere/model' not recognized" in said
    assert "Traceback" not in said
