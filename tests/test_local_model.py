"""The embedded model, for real."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import ChatMessage, ChatMessageSystem, GenerateConfig, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from orbench_inspect.local_model import _embedded_gguf
from orbench_inspect.local_model import serve as serve_gguf
from orbench_inspect.tasks import hard, toxic
from tests.conftest import Serve
from tests.runs import judge_says, metrics, model_at, run

ROOT = Path(__file__).parents[1]
MODEL = "orbench/smollm2-135m"

pytest.importorskip("xllamacpp", reason="the embedded model is not installed: extra `local`")


def answers(log: EvalLog) -> list[str]:
    assert log.samples, log.error
    return [sample.output.completion for sample in log.samples]


def test_it_answers_real_prompts_the_same_way_twice(or_bench: Path) -> None:
    task = hard(source=str(or_bench), scorer="matcher")
    logs = [run(task, MODEL, limit=3, max_tokens=24) for _ in range(2)]
    assert answers(logs[0]) == answers(logs[1])
    assert all(answers(logs[0]))
    assert logs[0].samples is not None
    assert logs[0].samples[0].output.model == "smollm2-135m"
    usage = logs[0].samples[0].output.usage
    assert usage is not None
    assert 0 < usage.output_tokens <= 24
    assert metrics(logs[0], "outcome")["n_scored"] == 3


def test_its_answers_to_real_prompts_are_judged_by_a_server(serve: Serve, or_bench: Path) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    log = run(
        toxic(source=str(or_bench)),
        MODEL,
        model_roles={"grader": model_at(server, "judge")},
        limit=3,
        max_tokens=24,
    )
    assert metrics(log, "outcome")["n_scored"] == 3
    shown = "".join(request.user for request in server.judged)
    assert len(server.judged) == 3
    assert all(answer and answer.strip() in shown for answer in answers(log))


def test_no_system_message_means_none() -> None:
    """The model's template adds one of its own where there is none."""
    server = serve_gguf(_embedded_gguf(), "smollm2-135m", 1024, os.getpid())
    assert server.invents_system

    def asked(*system: ChatMessage) -> str:
        @solver
        def ask() -> Solver:
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                state.messages = [*system, *state.messages]
                return await generate(state)

            return solve

        task = Task([Sample("Who are you?")], solver=ask())
        return answers(run(task, MODEL, max_tokens=24, temperature=0))[0]

    own = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    assert asked() == asked(ChatMessageSystem(content=""))
    assert asked() != asked(ChatMessageSystem(content=own))


def test_any_gguf_can_be_served(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.symlink_to(_embedded_gguf())
    task = Task([Sample("Hello")], config=GenerateConfig(max_tokens=4))
    log = run(task, "orbench/gguf", model_args={"path": str(path)})
    assert answers(log)[0]
    assert log.samples is not None
    assert log.samples[0].output.model == "gguf"


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("orbench/smollm", {}, "unknown model orbench/smollm; known: smollm2-135m, gguf"),
        ("orbench/gguf", {}, "needs a file: -M path=MODEL.gguf"),
        ("orbench/gguf", {"path": "absent.gguf"}, "-M path=absent.gguf: no such file"),
        (MODEL, {"path": "x.gguf"}, "-M path goes with orbench/gguf"),
        (MODEL, {"n_ctx": "abc"}, "-M n_ctx=abc: must be a whole number"),
        (MODEL, {"threads": 2}, "unknown -M threads; known: path, n_ctx"),
    ],
)
def test_a_mistake_is_explained(name: str, args: dict[str, Any], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        get_model(name, memoize=False, **args)


def test_a_file_that_is_no_model_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(click.UsageError, match=r"no\.gguf: cannot be loaded as a GGUF model"):
        get_model("orbench/gguf", memoize=False, path=str(path))


@pytest.mark.slow
def test_the_quickstart_measures_both_sides(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "inspect_ai", "eval", "evals/quickstart.py", "--limit", "10"],
        cwd=ROOT,
        env={**os.environ, "INSPECT_LOG_DIR": str(tmp_path)},
        check=True,
        capture_output=True,
    )
    logs = [read_eval_log(info) for info in list_eval_logs(str(tmp_path))]
    sets = {(log.eval.metadata or {})["orbench"]["prompt_set"] for log in logs}
    assert sets == {"bundled_safe", "bundled_harmful"}
    for log in logs:
        assert log.status == "success"
        assert metrics(log, "outcome")["n_samples"] == 10


@pytest.mark.slow
def test_ctrl_c_ends_a_run_and_keeps_what_was_finished(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "inspect_ai", "eval", "evals/quickstart.py@safe"],
        cwd=ROOT,
        env={**os.environ, "INSPECT_LOG_DIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("*.eval")) and time.monotonic() < deadline:
        time.sleep(0.5)
    time.sleep(12)  # some answers of a second each
    process.send_signal(signal.SIGINT)
    process.wait(60)
    log = read_eval_log(list_eval_logs(str(tmp_path))[0])
    assert log.status == "cancelled"
    assert log.samples
