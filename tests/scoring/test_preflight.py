"""What stops a run before anything is generated, and what is recorded of one that runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import eval, eval_set
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model

from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import ANSWER, judge_says, judged, matched, model_at


def refused(log: EvalLog, server: FakeServer) -> str:
    """Why a run was stopped; nothing may have been generated."""
    assert log.status == "error"
    assert log.error is not None
    assert server.generated == []
    return log.error.message


def start(
    path: Path, model: Model, grader: Model | None, allow_self_judge: bool = False
) -> EvalLog:
    task = custom(file=str(path), wanted="answer", allow_self_judge=allow_self_judge)
    return eval(task, model=model, model_roles={"grader": grader} if grader else {})[0]


def test_no_judge_stops_the_run_in_every_mode(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    path = prompts_file("one")
    message = "no judge is bound: add --model-role grader=PROVIDER/MODEL, or -T scorer=matcher"
    assert message in refused(start(path, model_at(server), None), server)
    done, logs = eval_set(
        custom(file=str(path), wanted="answer"),
        model=model_at(server),
        log_dir=str(tmp_path / "set"),
        retry_attempts=0,
    )
    assert not done
    assert message in refused(logs[0], server)


def test_no_judge_stops_the_command_with_the_flag_to_add(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    command = [
        *(
            sys.executable,
            "-m",
            "inspect_ai",
            "eval",
            "orbench_inspect/custom",
            "--display",
            "plain",
        ),
        *("-T", f"file={prompts_file('one')}", "-T", "wanted=answer"),
        *("--model", "openai-api/fake/m", "--model-base-url", f"{server.url}/v1"),
    ]
    env = {"FAKE_API_KEY": "none", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "add --model-role grader=PROVIDER/MODEL" in done.stdout + done.stderr
    assert server.requests == []


def test_capture_of_a_study_needs_no_judge(prompts_file: Write, tmp_path: Path) -> None:
    study = tmp_path / "study.py"
    study.write_text(
        "from inspect_ai import eval_set\n"
        "from orbench_inspect.tasks import custom\n"
        f"eval_set(custom(file={str(prompts_file('one'))!r}, wanted='answer'),"
        " model='mockllm/model', log_dir='set')\n"
    )
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "INSPECT_EVAL_SET_CAPTURE": "cap.json"}
    subprocess.run([sys.executable, study], cwd=tmp_path, env=env, check=True, capture_output=True)
    captured = json.loads((tmp_path / "cap.json").read_text())
    assert [task["registry_name"] for task in captured["tasks"]] == ["orbench_inspect/custom"]


def test_the_evaluated_model_does_not_judge_itself_unless_allowed(
    serve: Serve, prompts_file: Write
) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    path = prompts_file("one")
    model = model_at(server)
    log = start(path, model, model_at(server))
    assert "-T allow_self_judge=true" in refused(log, server)
    log = start(path, model, model_at(server), allow_self_judge=True)
    assert log.status == "success"
    assert log.results is not None
    assert log.results.early_stopping is not None
    assert log.results.early_stopping.metadata["self_judge"] is True


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        (GenerateConfig(fail_on_refusal=True), "fail_on_refusal"),
        (GenerateConfig(fallback_models=["openai-api/fake/other"]), "fallback_models"),
    ],
)
@pytest.mark.parametrize("whose", ["model", "judge"])
def test_settings_that_change_what_is_measured_stop_the_run(
    serve: Serve, prompts_file: Write, config: GenerateConfig, setting: str, whose: str
) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    model = model_at(server, "evaluated", config if whose == "model" else None)
    judge = model_at(server, "judge", config if whose == "judge" else None)
    message = refused(start(prompts_file("one"), model, judge), server)
    assert setting in message
    assert whose in message


def test_a_setting_of_the_run_is_seen_in_its_first_call(serve: Serve, prompts_file: Write) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    log = judged(prompts_file("one", "two", "three"), server, fail_on_refusal=True, max_samples=1)
    assert log.status == "error"
    assert log.error is not None
    assert "fail_on_refusal" in log.error.message
    assert len(server.generated) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (error(404, "model_not_found", "no such model"), "no such model"),
        (chat("I'm sorry, but I can't assist with that."), "judge_error"),
        (chat("It answers."), "unparsed"),
    ],
)
def test_a_judge_that_cannot_grade_stops_the_run(
    serve: Serve, prompts_file: Write, reply: Reply, reason: str
) -> None:
    server = serve(lambda request: reply if request.is_judge else chat(ANSWER))
    message = refused(judged(prompts_file("one"), server), server)
    assert "the judge openai-api/fake/judge could not grade a plain example" in message
    assert reason in message


def test_what_was_asked_and_sent_is_recorded_once(serve: Serve, prompts_file: Write) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    log = judged(prompts_file("one", "two"), server)
    assert log.results is not None
    assert log.results.early_stopping is not None
    record = log.results.early_stopping.metadata
    calls = record["calls"]
    assert isinstance(calls, dict)
    assert calls.keys() == {"model", "grader"}
    assert calls["model"] == {
        "model": "openai-api/fake/evaluated",
        "asked": {"temperature": 0.0, "max_tokens": 4096},
        "sent": {
            "model": "evaluated",
            "temperature": 0.0,
            "max_tokens": 4096,
            "tool_choice": None,
        },
        "not_sent": [],
    }
    assert record["judge"] == [
        {
            "model": "openai-api/fake/judge",
            "role": "grader",
            "plain_example": "direct_answer",
            "reply": "Plain. [[direct_answer]]",
        }
    ]
    assert record["judged"] == {"responses": 2, "verdicts": 2}


def test_the_matcher_needs_no_judge(serve: Serve, prompts_file: Write) -> None:
    server = serve(judge_says(""))
    assert matched(prompts_file("one"), server).status == "success"
    assert [r for r in server.requests if r.is_judge] == []


def test_a_dead_judge_stops_the_run_soon(serve: Serve, prompts_file: Write) -> None:
    def answer(request: Request) -> Reply:
        return error(503) if request.is_judge else chat(ANSWER)

    server = serve(answer)
    assert "could not grade" in refused(judged(prompts_file("one"), server), server)


def test_a_failed_sample_is_repeated_by_eval_set_and_others_are_not(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    broken = True

    def answer(request: Request) -> Reply:
        if request.user == "broken" and broken:
            return error(400, "bad", "malformed")
        return chat(ANSWER)

    server = serve(answer)
    path = str(prompts_file("broken", "one", "two"))

    def study() -> bool:
        return eval_set(
            custom(file=path, wanted="answer", scorer="matcher"),
            model=model_at(server),
            log_dir=str(tmp_path / "set"),
            retry_attempts=0,
        )[0]

    assert not study()
    before = len(server.requests)
    broken = False
    assert study()
    assert [request.user for request in server.requests[before:]] == ["broken"]


def test_settings_are_seen_where_calls_are_not_logged(serve: Serve, prompts_file: Write) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    log = judged(prompts_file("one"), server, fail_on_refusal=True, log_model_api=False)
    assert log.status == "error"
    assert log.error is not None
    assert "fail_on_refusal" in log.error.message


def test_two_models_of_one_task_do_not_share_a_record(serve: Serve, prompts_file: Write) -> None:
    def answer(request: Request) -> Reply:
        if request.is_judge:
            return chat("[[direct_answer]]")
        return chat("" if request.body["model"] == "silent" else ANSWER)

    server = serve(answer)
    silent = model_at(server, "silent")
    logs = eval(
        custom(file=str(prompts_file("one", "two")), wanted="answer", allow_self_judge=True),
        model=[silent, model_at(server, "other")],
        model_roles={"grader": silent},
        max_tasks=2,
    )
    records = {}
    for log in logs:
        assert log.results is not None
        assert log.results.early_stopping is not None
        records[log.eval.model] = log.results.early_stopping.metadata
    first, second = records["openai-api/fake/silent"], records["openai-api/fake/other"]
    assert first["unscored"] == {"n": 2, "of": 2, "empty": 2}
    assert second["unscored"] == {"n": 0, "of": 2}
    assert "self_judge" not in second
    assert second["warnings"] == []
    calls = second["calls"]
    assert isinstance(calls, dict)
    assert isinstance(calls["model"], dict)
    assert calls["model"]["model"] == "openai-api/fake/other"
