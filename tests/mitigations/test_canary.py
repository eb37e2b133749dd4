"""Does system text arrive? Three kinds of model are told apart."""

from pathlib import Path

import pytest
from inspect_ai.log import EvalLog
from inspect_ai.model import get_model
from pydantic import JsonValue

from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import model_at, run


def reads(request: Request) -> Reply:
    """A model that reads all it is sent."""
    if not request.user.endswith("word of the day?"):
        return chat("Yes, like this.")
    told = "pelican" in " ".join(text for _, text in request.texts)
    return chat("It is Pelican." if told else "I do not know the word of the day.")


def ignores(request: Request) -> Reply:
    """A model whose template drops system messages."""
    kept = [m for m in request.body["messages"] if m["role"] != "system"]
    return reads(Request(request.path, {**request.body, "messages": kept}))


def rejects(request: Request) -> Reply:
    """A model whose template raises an error at system messages."""
    if any(role == "system" for role, _ in request.texts):
        return error(400, "bad_request", "System role not supported")
    return reads(request)


def start(path: Path, server_url: object, **options: str) -> EvalLog:
    task = custom(
        file=str(path),
        wanted="answer",
        scorer="matcher",
        mitigation="helpful_first",
        **options,  # type: ignore[arg-type]  # all of them take text
    )
    return run(task, server_url)


def run_record(log: EvalLog) -> dict[str, JsonValue]:
    assert log.results is not None, log.error
    assert log.results.early_stopping is not None
    return log.results.early_stopping.metadata


def system_record(log: EvalLog) -> dict[str, JsonValue]:
    record = run_record(log)["system"]
    assert isinstance(record, dict)
    return record


def test_a_model_that_obeys_is_observed(serve: Serve, prompts_file: Write) -> None:
    server = serve(reads)
    log = start(prompts_file("one"), model_at(server))
    assert system_record(log) == {
        "state": "observed",
        "sent_as": "system",
        "reply": "It is Pelican.",
    }


def test_a_model_that_ignores_is_marked(
    serve: Serve, prompts_file: Write, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(ignores)
    log = start(prompts_file("one"), model_at(server))
    assert log.status == "success"
    assert system_record(log)["state"] == "not_observed"
    assert "system text was not observed to reach openai-api/fake/evaluated" in caplog.text
    assert "not valid" in caplog.text


def test_a_model_that_rejects_stops_the_run_with_the_remedy(
    serve: Serve, prompts_file: Write
) -> None:
    server = serve(rejects)
    log = start(prompts_file("one"), model_at(server))
    assert log.status == "error"
    assert log.error is not None
    assert "rejects system messages" in log.error.message
    assert "System role not supported" in log.error.message
    assert "-T system_as=user" in log.error.message
    assert not any("one" in text for r in server.requests for _, text in r.texts)


@pytest.mark.parametrize("model", [ignores, rejects])
def test_the_fallback_works_and_is_recorded(
    serve: Serve, prompts_file: Write, model: object
) -> None:
    server = serve(model)  # type: ignore[arg-type]  # both are answers
    log = start(prompts_file("one"), model_at(server), system_as="user")
    assert system_record(log) | {"reply": ""} == {
        "state": "observed",
        "sent_as": "user",
        "reply": "",
    }
    assert server.requests[-1].texts[0][1].endswith("\n\none")
    recorded = (log.eval.metadata or {})["orbench"]
    assert recorded["system_as"] == "user"
    assert recorded["options"]["system_as"] == "user"


def test_what_was_observed_is_not_asked_again(serve: Serve, prompts_file: Write) -> None:
    server = serve(reads)
    for _ in range(2):
        start(prompts_file("one"), model_at(server))
    asked = [r for r in server.requests if r.user.endswith("word of the day?")]
    assert len(asked) == 1


def test_what_was_not_observed_is_asked_again(serve: Serve, prompts_file: Write) -> None:
    cured = False

    def answer(request: Request) -> Reply:
        return reads(request) if cured else ignores(request)

    server = serve(answer)
    assert system_record(start(prompts_file("one"), model_at(server)))["state"] == "not_observed"
    cured = True
    assert system_record(start(prompts_file("one"), model_at(server)))["state"] == "observed"


def test_a_reply_that_does_not_tell_is_inconclusive_where_the_text_was_counted(
    serve: Serve, prompts_file: Write
) -> None:
    def answer(request: Request) -> Reply:
        reply = chat("The word of the day is flea.")
        words = sum(len(text.split()) for _, text in request.texts)
        reply.body["usage"]["prompt_tokens"] = 10 + words
        return reply

    server = serve(answer)
    log = start(prompts_file("one"), model_at(server))
    assert system_record(log)["state"] == "inconclusive"
    # Warnings are passed on with a report, which may be one without what models wrote.
    assert "flea" not in str(run_record(log)["warnings"])


@pytest.mark.parametrize("reply", [chat(""), chat("", finish="content_filter")])
def test_an_empty_or_blocked_reply_is_inconclusive(
    serve: Serve, prompts_file: Write, reply: Reply
) -> None:
    server = serve(lambda request: reply)
    assert system_record(start(prompts_file("one"), model_at(server)))["state"] == "inconclusive"


def test_a_hiccup_is_not_called_a_rejection(serve: Serve, prompts_file: Write) -> None:
    seen: list[Request] = []

    def answer(request: Request) -> Reply:
        seen.append(request)
        return error(400, "overloaded", "try later") if len(seen) == 1 else reads(request)

    log = start(prompts_file("one"), model_at(serve(answer)))
    assert system_record(log)["state"] == "observed"


def test_another_file_behind_the_same_name_is_asked_anew(serve: Serve, prompts_file: Write) -> None:
    server = serve(reads)
    for template in ("a", "b", "b"):
        model = get_model(
            "openai-api/fake/m",
            base_url=f"{server.url}/v1",
            api_key="none",
            memoize=False,
            emulate_tools=template == "a",
        )
        start(prompts_file("one"), model)
    assert sum(r.user.endswith("word of the day?") for r in server.requests) == 2


def test_a_model_that_is_down_is_not_called_rejecting(serve: Serve, prompts_file: Write) -> None:
    server = serve(lambda request: error(400, "model_not_found", "no such model"))
    log = start(prompts_file("one"), model_at(server))
    assert log.error is not None
    assert "cannot be reached" in log.error.message
    assert "no such model" in log.error.message
