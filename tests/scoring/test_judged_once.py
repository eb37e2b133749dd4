"""The same text comes before the same judge once in a run, and nothing else is counted for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig

from orbench_inspect.scoring.judge import Judgement, load_judge_prompt
from orbench_inspect.scoring.judged_once import Judged, judge_once
from orbench_inspect.studies.pilot import read_pilot
from orbench_inspect.tasks import custom, judge_validation
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import ANSWER, judge_says, metrics, model_at

WARM = GenerateConfig(temperature=0.5, max_retries=0)


def by_prompt(request: Request) -> Reply:
    """A model that always says the same to a prompt, and a judge that takes a while."""
    if not request.is_judge:
        return chat("I cannot help with that." if "two" in request.user else ANSWER)
    refused = "I cannot" in request.user
    return chat("[[direct_refusal]]" if refused else "Yes. [[direct_answer]]", delay=0.02)


def scored(log: EvalLog) -> list[tuple[Any, int, str | None, str | None]]:
    scores = [(s.id, s.epoch, (s.scores or {})["refusal"]) for s in log.samples or []]
    return sorted((id, epoch, x.answer, x.explanation) for id, epoch, x in scores)


def told(log: EvalLog) -> list[dict[str, Any]]:
    return [(s.scores or {})["refusal"].metadata or {} for s in log.samples or []]


def run(server: FakeServer, path: Path, judge: GenerateConfig | None = None) -> EvalLog:
    task = custom(file=str(path), wanted="answer")
    roles = {"grader": model_at(server, "judge", judge)}
    return eval(task, model=model_at(server), model_roles=roles, epochs=3)[0]


def test_epochs_that_say_the_same_are_judged_once_at_temperature_0(
    serve: Serve, prompts_file: Write
) -> None:
    server, path = serve(by_prompt), prompts_file("one", "two")
    log = run(server, path)
    assert len(server.judged) == 2
    paid = [meta for meta in told(log) if "judged_with" not in meta]
    shared = [meta for meta in told(log) if "judged_with" in meta]
    assert [meta["judge_tokens"] for meta in shared] == [0] * 4
    assert {meta["judge_tokens"] > 0 for meta in paid} == {True}
    judged = {s.uuid for s in log.samples or [] if s.role_usage.get("grader")}
    assert {meta["judged_with"] for meta in shared} == judged
    assert {meta["judge_reply"] for meta in shared} == {meta["judge_reply"] for meta in paid}
    assert log.results is not None
    assert log.results.early_stopping is not None
    record = log.results.early_stopping.metadata
    assert record["judged"] == {"responses": 6, "verdicts": 6, "reused": 4}
    [seen] = read_pilot(log.location).observed.values()
    assert (seen.judged, seen.reused, seen.before_judge) == (2, 4, 1)
    # Another run asks for itself, and a judge that varies is asked about every epoch.
    again = run(server, path, WARM)
    assert len(server.judged) == 2 + 6
    assert scored(again) == scored(log)
    assert metrics(again) == metrics(log)
    assert run(server, path).status == "success"
    assert len(server.judged) == 2 + 6 + 2


def test_arms_share_a_judgement_and_replicates_never_do(serve: Serve, prompts_file: Write) -> None:
    server, path = serve(judge_says("[[direct_answer]]")), str(prompts_file("one"))
    arms = [("none", 1), ("demonstrate_answering", 1), ("none", 2)]
    tasks = [
        custom(file=path, wanted="answer", mitigation=name, replicate=replicate)
        for name, replicate in arms
    ]
    roles = {"grader": model_at(server, "judge")}
    logs = eval(tasks, model=model_at(server), model_roles=roles, max_tasks=1, cache=True)
    assert {log.status for log in logs} == {"success"}
    assert len(server.judged) == 2
    alone = {log.eval.task_args["replicate"]: told(log)[0] for log in logs}[2]
    assert "judged_with" not in alone


def failing_at_first(judged: list[Request]) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        if request.is_judge and "capital of France" not in request.user:
            judged.append(request)
            if len(judged) == 1:
                return error(400, "bad", "malformed")
        return by_prompt(request)

    return answer


def test_what_a_judge_could_not_judge_is_asked_anew(serve: Serve, prompts_file: Write) -> None:
    server = serve(failing_at_first([]))
    log = run(server, prompts_file("one"))
    assert len(server.judged) == 2
    outcomes = sorted(str(answer) for _, _, answer, _ in scored(log))
    assert outcomes == ["direct_answer", "direct_answer", "judge_error"]


def test_each_seat_of_a_panel_is_asked_once(serve: Serve, prompts_file: Write) -> None:
    server, path = serve(by_prompt), str(prompts_file("one"))
    log = eval(
        custom(file=path, wanted="answer"),
        model=model_at(server),
        model_roles={"grader": [model_at(server, name) for name in ("a", "a", "b")]},
        epochs=2,
    )[0]
    assert len(server.judged) == 3
    first, second = sorted(told(log), key=lambda meta: int(meta["judge_tokens"]))
    assert first["judge_tokens"] == 0
    assert first["votes"] == second["votes"]
    assert len(first["votes"]) == 3


def test_a_validation_asks_about_every_epoch(serve: Serve, tmp_path: Path) -> None:
    server = serve(judge_says("[[direct_answer]]"))
    labels = tmp_path / "labels.csv"
    labels.write_text("prompt,response,label\nHow?,Like this.,answered\n")
    roles = {"grader": model_at(server, "judge")}
    eval(judge_validation(labels=str(labels)), model_roles=roles, epochs=2)
    assert len(server.judged) == 2


def test_who_waits_for_one_that_is_cancelled_asks_for_itself(serve: Serve) -> None:
    server = serve(lambda request: chat("[[direct_answer]]", delay=0.3))
    judge, prompt = model_at(server, "judge"), load_judge_prompt()
    found: list[Judgement] = []

    async def ask(sample: str, scope: anyio.CancelScope) -> None:
        with scope:
            found.append(await judge_once(judge, prompt, "How?", "So.", None, Judged(sample)))

    async def both() -> None:
        first, second = anyio.CancelScope(), anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(ask, "first", first)
            await anyio.sleep(0.1)
            group.start_soon(ask, "second", second)
            await anyio.sleep(0.05)
            assert len(server.judged) == 1
            first.cancel()

    anyio.run(both)
    assert [(one.outcome, one.judged_with) for one in found] == [("direct_answer", "")]
    assert len(server.judged) == 2
