"""A cache and provider refusals: the first attempt counts, and a run that drifts says so."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog

from orbench_inspect.analysis.runs import read_runs
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.runs import ANSWER, matched, metrics, model_at


def record_of(log: EvalLog) -> dict[str, Any]:
    assert log.results is not None, log.error
    assert log.results.early_stopping is not None
    return log.results.early_stopping.metadata


def at_first(asked: Counter[str]) -> Any:
    """A server whose filter blocks one prompt when it first comes, and never again."""

    def answer(request: Request) -> Reply:
        asked[request.user] += 1
        blocked = request.user == "two" and asked["two"] == 1
        return chat("", finish="content_filter") if blocked else chat(ANSWER)

    return answer


def test_a_run_that_asks_again_only_what_was_blocked_says_so(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    asked: Counter[str] = Counter()
    server, path = serve(at_first(asked)), prompts_file("one", "two", "three")
    first = matched(path, server, cache=True)
    assert metrics(first)["refusal_rate"] == pytest.approx(1 / 3)
    assert record_of(first)["cache"] == {"read": 0, "asked": 3, "provider_refusal": 1}
    assert "1 provider refusals in a run with a cache" in record_of(first)["warnings"][0]
    again = matched(path, server, cache=True)
    assert asked == {"one": 1, "two": 2, "three": 1}
    assert metrics(again)["refusal_rate"] == 0
    assert record_of(again)["cache"] == {"read": 2, "asked": 1, "provider_refusal": 0}
    told = "2 responses came from a cache and 1 were asked now, with 0 provider refusals"
    assert told in record_of(again)["warnings"][0]
    notes = read_runs(again.location, first.location).notes
    assert [told in note for note in notes].count(True) == 1


def test_a_cache_without_provider_refusals_is_no_matter(serve: Serve, prompts_file: Write) -> None:
    server, path = serve(lambda request: chat(ANSWER)), prompts_file("one", "two")
    for read in (0, 2):
        log = matched(path, server, cache=True)
        cache = {"read": read, "asked": 2 - read, "provider_refusal": 0}
        assert record_of(log)["cache"] == cache
        assert record_of(log)["warnings"] == []
    assert "cache" not in record_of(matched(path, server))


def test_a_provider_refusal_is_not_asked_again_in_its_run(
    serve: Serve, prompts_file: Write
) -> None:
    asked: Counter[str] = Counter()
    server, path = serve(at_first(asked)), str(prompts_file("one", "two"))
    log = eval(
        custom(file=path, wanted="answer", scorer="matcher", mitigation="response_check"),
        model=model_at(server),
        retry_on_error=2,
    )[0]
    assert asked["two"] == 1
    assert metrics(log, "outcome")["n_provider_refusal"] == 1
