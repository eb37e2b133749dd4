"""Batch mode: both roles go in batches, and what would be paid in full is told before."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import BatchConfig, GenerateConfig, Model, get_model

from orbench_inspect.studies.study import run_tasks
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request, error
from tests.fakes.openai import chat
from tests.fakes.openai_batch import BatchServer, serving_batches
from tests.runs import ANSWER, judge_says, metrics, model_at

BATCH = BatchConfig(size=2, max_size=2, send_delay=0.05, tick=0.05)
ALONE = BatchConfig(size=1, max_size=1, send_delay=0.05, tick=0.05)


def answer(request: Request) -> Reply:
    if request.is_judge:
        return chat("[[direct_refusal]]" if "I cannot" in request.user else "[[direct_answer]]")
    if request.user.endswith("word of the day?"):
        return chat("It is pelican.")
    return chat("I cannot help with that." if "two" in request.user else ANSWER)


def outcomes(log: EvalLog) -> dict[str, str | None]:
    return {str(s.input): (s.scores or {})["refusal"].answer for s in log.samples or []}


def test_a_study_in_batches_sends_both_roles_in_batches_and_finds_the_same(
    prompts_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(prompts_file("one", "two", "three"))
    arms = ("none", "helpful_minimal")
    tasks = [custom(file=path, wanted="answer", mitigation=arm) for arm in arms]
    with serving_batches(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        plain = eval(
            tasks, model="openai/gpt-4o", model_roles={"grader": "openai/gpt-4o-mini"}, max_tasks=2
        )
        server.requests.clear()
        # The second task meets clients that have sent batches: its preflight must not wait.
        done, headers = run_tasks(
            tasks,
            ["openai/gpt-4o"],
            "openai/gpt-4o-mini",
            str(tmp_path / "set"),
            batch=BATCH,
            max_tasks=1,
        )
    assert done, [log.error for log in headers]
    logs = [read_eval_log(log.location) for log in headers]
    found, expected = (
        {log.eval.task_args["mitigation"]: outcomes(log) for log in some} for some in (logs, plain)
    )
    assert found == expected
    assert found["none"]["two"] == "direct_refusal"
    sent = Counter(request.body["model"] for request in server.batched)
    # Both arms lead to the same responses, which are judged once.
    assert sent == {"gpt-4o": 6, "gpt-4o-mini": 3}
    # One by one only what comes before: the judge's plain example twice, and the canary.
    assert [request.body["model"] for request in server.requests].count("gpt-4o-mini") == 2
    assert all(
        "capital of France" in request.user or request.user.endswith("word of the day?")
        for request in server.requests
    )


def batched(server: BatchServer, name: str, batch: BatchConfig) -> Model:
    return get_model(
        f"openai/{name}",
        base_url=f"{server.url}/v1",
        api_key="none",
        memoize=False,
        config=GenerateConfig(batch=batch),
    )


def test_a_request_that_fails_in_a_batch_is_unscored_and_counted(prompts_file: Write) -> None:
    def some_fail(request: Request) -> Reply:
        rejected = "two" in request.user if request.is_judge else request.user == "one"
        return error(400, "bad", "malformed") if rejected else answer(request)

    with serving_batches(some_fail) as server:
        log = eval(
            custom(file=str(prompts_file("one", "two", "three")), wanted="answer"),
            model=batched(server, "gpt-4o", ALONE),
            model_roles={"grader": batched(server, "gpt-4o-mini", ALONE)},
            fail_on_error=False,
        )[0]
    assert outcomes(log) == {"one": "model_error", "two": "judge_error", "three": "direct_answer"}
    assert metrics(log, "outcome")["n_samples"] == 3
    assert metrics(log, "outcome")["n_unscored"] == 2


@pytest.mark.parametrize(
    ("whose", "where"), [("evaluated", "the run's settings"), ("judge", "--model-role grader=")]
)
def test_batch_that_would_be_ignored_stops_the_run(
    serve: Serve, prompts_file: Write, whose: str, where: str
) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    models = {
        name: model_at(server, name, GenerateConfig(batch=10) if name == whose else None)
        for name in ("evaluated", "judge")
    }
    log = eval(
        custom(file=str(prompts_file("one")), wanted="answer"),
        model=models["evaluated"],
        model_roles={"grader": models["judge"]},
    )[0]
    assert log.error is not None
    assert f"batch is set for openai-api/fake/{whose}" in log.error.message
    assert where in log.error.message
    assert server.requests == []


def test_a_judge_left_out_of_the_batches_is_warned_of(prompts_file: Write) -> None:
    with serving_batches(judge_says("[[direct_answer]]")) as server:
        judge = get_model(
            "openai/gpt-4o-mini", base_url=f"{server.url}/v1", api_key="none", memoize=False
        )
        log = eval(
            custom(file=str(prompts_file("one")), wanted="answer"),
            model=batched(server, "gpt-4o", BATCH),
            model_roles={"grader": judge},
        )[0]
    assert log.results is not None
    assert log.results.early_stopping is not None
    record = log.results.early_stopping.metadata
    told = "--model-role 'grader={model: openai/gpt-4o-mini, batch: 100}'"
    assert told in str(record["warnings"])
    calls: Any = record["calls"]
    assert "batch" in calls["model"]["asked"]
    assert "batch" not in calls["grader"]["asked"]
