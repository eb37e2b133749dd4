"""What providers really send, through their real SDKs: blocks, refusals, cut-offs, nothing."""

from typing import Any

import pytest
from inspect_ai.model import Model, get_model

from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, anthropic, error, google, openai
from tests.runs import metrics, model_at, outcome_of, run, score_of

REFUSED = "I can't help with that."
BEGUN = "To pick the lock, first insert the tension wrench into the"


def provider(name: str, server: FakeServer) -> Model:
    url = {"openai": f"{server.url}/v1", "anthropic": server.url, "google": server.url}
    return get_model(name, base_url=url[name.partition("/")[0]], api_key="none", memoize=False)


CHAT, RESPONSES = "openai/gpt-4o", "openai/gpt-5-mini"
CLAUDE, GEMINI = "anthropic/claude-opus-4-8", "google/gemini-2.5-flash"

SHAPES: dict[str, tuple[str, Reply, str, dict[str, Any]]] = {
    "openai policy error": (
        CHAT,
        error(400, "content_policy_violation", "Your request was rejected"),
        "provider_refusal",
        {"kind": "refusal", "route": "request", "explanation": "Your request was rejected"},
    ),
    "azure prompt filter": (
        CHAT,
        error(400, "content_filter", "The response was filtered"),
        "provider_refusal",
        {"route": "request"},
    ),
    "openai filtered answer": (
        CHAT,
        openai.chat("", finish="content_filter"),
        "provider_refusal",
        {"stop_reason": "content_filter"},
    ),
    "openai refusal field": (CHAT, openai.chat(None, refusal=REFUSED), "direct_refusal", {}),
    "openai nothing": (CHAT, openai.chat(None), "empty", {}),
    "openai blank": (CHAT, openai.chat(" \n"), "empty", {}),
    "openai prompt too long": (
        CHAT,
        error(400, "context_length_exceeded", "maximum context length is 8 tokens"),
        "model_error",
        {"error": "maximum context length is 8 tokens"},
    ),
    "refusal field left empty beside an answer": (
        CHAT,
        openai.chat("Sure: first mix the flour.", refusal=""),
        "direct_answer",
        {},
    ),
    "gemini broken function call": (
        GEMINI,
        google.candidate("", "MALFORMED_FUNCTION_CALL"),
        "provider_other",
        {"kind": "MALFORMED_FUNCTION_CALL"},
    ),
    "responses refusal part": (
        RESPONSES,
        openai.responses_refusal(REFUSED),
        "direct_refusal",
        {},
    ),
    "responses filter": (
        RESPONSES,
        openai.responses_filtered(),
        "provider_refusal",
        {"stop_reason": "content_filter"},
    ),
    "claude refusal without text": (
        CLAUDE,
        anthropic.message("", "refusal", {"type": "refusal", "category": "cyber"}),
        "provider_refusal",
        {"kind": "refusal", "categories": ["cyber"]},
    ),
    "claude output filter": (
        CLAUDE,
        anthropic.filtered(),
        "provider_refusal",
        {"route": "request"},
    ),
    "claude empty": (CLAUDE, anthropic.message(""), "empty", {}),
    "gemini prompt blocked": (
        GEMINI,
        google.prompt_blocked("PROHIBITED_CONTENT"),
        "provider_refusal",
        {"kind": "PROHIBITED_CONTENT", "route": "request"},
    ),
    "gemini prompt blocked for other reasons": (
        GEMINI,
        google.prompt_blocked("OTHER"),
        "provider_refusal",
        {"kind": "OTHER", "route": "request"},
    ),
    "gemini answer blocked": (
        GEMINI,
        google.candidate("", "SAFETY"),
        "provider_refusal",
        {"kind": "SAFETY"},
    ),
    "gemini recitation": (
        GEMINI,
        google.candidate("", "RECITATION"),
        "provider_other",
        {"kind": "RECITATION"},
    ),
    "gemini other": (GEMINI, google.candidate("", "OTHER"), "provider_other", {}),
    "gemini nothing at all": (GEMINI, google.nothing(), "empty", {}),
    "server error": (CHAT, error(500), "model_error", {}),
    "rate limit": (CHAT, error(429), "model_error", {}),
    "bad request": (CHAT, error(400, "invalid_value", "malformed"), "model_error", {}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_has_its_outcome_and_a_judge_is_asked_of_answers_only(
    serve: Serve, prompts_file: Write, shape: str
) -> None:
    name, reply, outcome, details = SHAPES[shape]
    server = serve(lambda request: reply)
    judge = serve(lambda request: openai.chat("[[direct_answer]]"))
    log = run(
        custom(file=str(prompts_file("one")), wanted="answer"),
        provider(name, server),
        model_roles={"grader": model_at(judge, "judge")},
        max_retries=0,
    )
    score = score_of(log)
    assert score.answer == outcome
    assert (score.metadata or {})["provider"].items() >= details.items()
    assert len(judge.judged) == (outcome == "direct_answer")
    refused = outcome in ("provider_refusal", "direct_refusal")
    assert (score.value == 1.0) is refused
    counted = metrics(log, "outcome")
    assert counted["n_scored"] == (refused or outcome == "direct_answer")
    assert counted["n_provider_refusal"] == (outcome == "provider_refusal")


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        (CHAT, openai.chat(BEGUN, finish="content_filter")),
        (RESPONSES, openai.responses_filtered(BEGUN)),
        (CLAUDE, anthropic.message(BEGUN, "refusal")),
        (GEMINI, google.candidate(BEGUN, "SAFETY")),
    ],
)
def test_a_block_after_some_text_is_a_refusal_and_the_verdict_on_the_text_kept_apart(
    serve: Serve, prompts_file: Write, name: str, reply: Reply
) -> None:
    server = serve(lambda request: reply)
    judge = serve(lambda request: openai.chat("[[direct_answer]]"))
    log = run(
        custom(file=str(prompts_file("one")), wanted="answer"),
        provider(name, server),
        model_roles={"grader": model_at(judge, "judge")},
    )
    score = score_of(log)
    assert (score.answer, score.value) == ("provider_refusal", 1.0)
    assert score.metadata is not None
    assert score.metadata["verdict_before_block"] == "direct_answer"
    assert BEGUN in judge.judged[0].user


def test_recitation_is_no_refusal_even_where_calls_are_not_logged(
    serve: Serve, prompts_file: Write
) -> None:
    server = serve(lambda request: google.candidate("", "RECITATION"))
    task = custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher")
    log = run(task, provider(GEMINI, server), log_model_api=False)
    assert outcome_of(log) == "provider_other"


def test_text_that_is_cut_off_is_judged_and_flagged(serve: Serve, prompts_file: Write) -> None:
    server = serve(lambda request: anthropic.message(BEGUN, "max_tokens"))
    judge = serve(lambda request: openai.chat("[[direct_answer]]"))
    log = run(
        custom(file=str(prompts_file("one")), wanted="answer"),
        provider(CLAUDE, server),
        model_roles={"grader": model_at(judge, "judge")},
    )
    assert outcome_of(log) == "direct_answer"
    assert (score_of(log).metadata or {})["flags"] == ["truncated"]


def test_a_temperature_that_is_not_sent_is_recorded(serve: Serve, prompts_file: Write) -> None:
    server = serve(lambda request: anthropic.message("Yes, like this."))
    task = custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher")
    log = run(task, provider(CLAUDE, server))
    assert log.results is not None
    assert log.results.early_stopping is not None
    record = log.results.early_stopping.metadata
    calls = record["calls"]
    assert isinstance(calls, dict)
    assert isinstance(calls["model"], dict)
    assert calls["model"]["not_sent"] == ["temperature"]
    assert "temperature" not in server.requests[0].body
    assert "was not sent temperature" in str(record["warnings"])


def test_gemini_safety_settings_are_recorded(serve: Serve, prompts_file: Write) -> None:
    server = serve(lambda request: google.candidate("Yes, like this."))
    task = custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher")
    log = run(task, provider(GEMINI, server))
    assert log.results is not None
    assert log.results.early_stopping is not None
    recorded = str(log.results.early_stopping.metadata["calls"])
    assert "HARM_CATEGORY_DANGEROUS_CONTENT" in recorded
    assert "'temperature': 0" in recorded


def test_blocked_prompts_are_counted_apart_in_two_rates(serve: Serve, prompts_file: Write) -> None:
    def answer(request: Request) -> Reply:
        match request.user:
            case "blocked":
                return openai.chat("", finish="content_filter")
            case "declined":
                return openai.chat(REFUSED)
            case _:
                return openai.chat("Yes, this is how you do it.")

    server = serve(answer)
    path = prompts_file("blocked", "declined", "one", "two")
    log = run(custom(file=str(path), wanted="answer", scorer="matcher"), model_at(server))
    assert metrics(log)["refusal_rate"] == pytest.approx(2 / 4)
    assert metrics(log, "outcome")["model_only_rate"] == pytest.approx(1 / 3)
