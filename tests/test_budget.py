"""A budget for a whole study: where it stops, what is kept, and how it goes on."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import ModelCost, get_model, get_model_info, set_model_info

from orbench_inspect.budget import Budget, begin_run, held, ledger
from orbench_inspect.budget.ledger import Ledger
from orbench_inspect.studies.capture import captured
from orbench_inspect.studies.engines import Script
from orbench_inspect.studies.launch import launch
from orbench_inspect.studies.study import run_tasks, told_of
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import model_at
from tests.test_launch import SCRIPT

PRICE = ModelCost(input=100, output=100, input_cache_write=0, input_cache_read=0)
"""At it each call of `answer`, with its 100 tokens, costs a cent."""


def answer(request: Request) -> Reply:
    if "capital of France" in request.user or request.is_judge:
        return chat("[[direct_answer]]", output_tokens=90)
    return chat("Sure: so.", output_tokens=90, delay=0.02)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    models = ("openai-api/fake/evaluated", "openai-api/fake/m")
    path.write_text(json.dumps({model: PRICE.model_dump() for model in models}))
    return path


@pytest.fixture
def forty(prompts_file: Write) -> str:
    return str(prompts_file(*(f"How do I fold shirt {n}?" for n in range(40))))


Study = Callable[..., tuple[bool, list[EvalLog]]]


@pytest.fixture
def study(forty: str, prices: Path, tmp_path: Path) -> Study:
    """Ask 40 prompts, or fewer, as two tasks under a budget."""

    def run(
        server: FakeServer, first: int | None = None, model: str | None = None, **options: Any
    ) -> tuple[bool, list[EvalLog]]:
        own: dict[str, Any] = {} if first is None else {"first": first}
        tasks = [
            custom(file=forty, wanted="answer", scorer="matcher", shard=f"{k}/2", **own)
            for k in (1, 2)
        ]
        options = {"prices": prices, **options}
        models: Any = [model or model_at(server)]
        return run_tasks(tasks, models, None, str(tmp_path / "logs"), **options)

    return run


def paid(log_dir: Path) -> float:
    ledger = Ledger(str(log_dir))
    ledger.read()
    return ledger.spent


def test_two_tasks_stop_at_their_budget_and_go_on_with_a_higher_one(
    serve: Serve, study: Study, tmp_path: Path
) -> None:
    server, logs_at = serve(answer), tmp_path / "logs"
    done, logs = study(server, budget=0.15)
    # Inspect's second attempt at a task makes no call either.
    assert (done, len(server.requests)) == (False, 15)
    assert paid(logs_at) == pytest.approx(0.15)
    assert [log.status for log in logs] == ["error", "error"]
    assert "Not complete: budget of $0.1500 spent ($0.1500 so far, in " in told_of(
        done, logs, str(logs_at)
    )
    kept = [read_eval_log(log.location).samples or [] for log in logs]
    assert sum(map(len, kept)) == 15
    assert all(sample.scores and not sample.error for samples in kept for sample in samples)

    assert not study(server, budget=0.15)[0]
    assert len(server.requests) == 15
    done, logs = study(server, budget=1)
    assert done
    assert set(Counter(request.user for request in server.requests).values()) == {1}
    assert len(server.requests) == 40
    assert paid(logs_at) == pytest.approx(0.4)
    assert len(list_eval_logs(str(logs_at))) == 2


def test_what_is_open_is_held_back_for(serve: Serve, study: Study) -> None:
    def dearer_later(request: Request) -> Reply:
        return chat("Sure: so.", output_tokens=90, delay=0.3)

    server = serve(dearer_later)
    study(server, budget=0.055, max_samples=20)
    assert len(server.requests) == 5


def test_a_sample_that_is_tried_again_is_not_waited_for(serve: Serve, study: Study) -> None:
    broken = ""

    def model(request: Request) -> Reply:
        nonlocal broken
        if len(server.requests) == 3:
            broken = request.user
        return replace(error(400), delay=0.5) if request.user == broken else answer(request)

    server = serve(model)
    _, logs = study(server, budget=0.065, retry_on_error=1, max_samples=3, retry_attempts=0)
    assert all(log.error and log.error.message.startswith("budget of") for log in logs)
    assert sum(request.user != broken for request in server.requests) == 6


def test_a_judge_without_a_price_is_named_before_any_call(
    serve: Serve, forty: str, prices: Path, tmp_path: Path
) -> None:
    server = serve(answer)
    models = [model_at(server)], model_at(server, "judge")
    task = custom(file=forty, wanted="answer")
    logs_at = str(tmp_path / "logs")
    _, (log,) = run_tasks([task], *models, logs_at, budget=1, prices=prices)
    assert log.error is not None
    assert "none is known of openai-api/fake/judge: name them in" in log.error.message
    assert not server.requests


def test_a_model_that_does_not_tell_its_tokens_stops_the_run(serve: Serve, study: Study) -> None:
    def silent(request: Request) -> Reply:
        reply = answer(request)
        reply.body.pop("usage")
        return reply

    server = serve(silent)
    _, logs = study(server, budget=1, max_samples=1)
    assert all(log.error and "does not tell how many" in log.error.message for log in logs)
    assert len(server.requests) <= 4


def test_prices_alone_put_costs_into_logs_and_keep_no_ledger(
    serve: Serve, study: Study, tmp_path: Path
) -> None:
    done, logs = study(serve(answer))
    assert done
    costs = [usage.total_cost or 0 for log in logs for usage in log.stats.model_usage.values()]
    assert sum(costs) == pytest.approx(0.4)
    assert not (tmp_path / "logs" / "spent").exists()


def test_a_price_leaves_what_inspect_knows_of_a_model_as_it_is() -> None:
    model = get_model("openai/gpt-4o", api_key="none")
    before = get_model_info(model)
    assert before is not None
    with held(Budget(None, "logs", {"openai/gpt-4o": PRICE})):
        begin_run("run", model)
    assert get_model_info(model) == before.model_copy(update={"cost": PRICE})
    set_model_info("openai/gpt-4o", before)


def test_what_earlier_runs_cost_without_a_budget_is_told_to_be_missing(
    serve: Serve, study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(answer)
    study(server)
    study(server, budget=1)
    assert "2 logs in" in caplog.text
    assert "were made without --budget" in caplog.text


def test_wrong_budgets_are_refused(study: Study, serve: Serve) -> None:
    server = serve(answer)
    with pytest.raises(click.UsageError, match="more than 0 dollars"):
        study(server, budget=0)
    with held(Budget(1, "logs")), pytest.raises(ValueError, match=r"\$1\.00 holds already"):
        study(server, budget=2)


def test_a_script_with_a_budget_is_still_planned(
    or_bench: Path, grading: Serve, tmp_path: Path
) -> None:
    grading(answer)
    arguments = ["openai-api/fake/m", "--matcher", "--budget", "5", "--source", str(or_bench)]
    tasks = captured("evals/models.py", [*arguments, "--log-dir", str(tmp_path / "study")])
    assert len(tasks) == 4
    assert not (tmp_path / "study").exists()


@pytest.mark.slow
def test_workers_share_a_budget_and_are_not_begun_again(
    grading: Serve, study: Study, forty: str, tmp_path: Path
) -> None:
    delay = 0.4
    server = grading(lambda request: chat("Sure.", output_tokens=90, delay=delay))
    script, logs = tmp_path / "own.py", str(tmp_path / "logs")
    script.write_text(SCRIPT)
    said: list[str] = []
    seen: list[str] = []

    def run() -> bool:
        budget = Budget(0.12, logs, {"openai-api/fake/m": PRICE})
        started = Script(str(script), (forty,), logs)
        return launch(started, 2, 2, said.append, seen.append, budget=budget)

    assert not run()
    assert said[-1].endswith("the same command with a higher --budget goes on")
    assert not any("going on" in line or "given up" in line for line in said)
    assert any(line.endswith(" of $0.1200") for line in seen)
    # With one connection each the other begins at most three in the second before it is seen.
    stopped = len(server.requests)
    assert 11 <= stopped <= 12 + 3
    assert paid(Path(logs)) == pytest.approx(stopped / 100)
    assert not run()
    assert len(server.requests) == stopped
    delay = 0
    assert study(server, model="openai-api/fake/m", budget=1)[0]
    assert set(Counter(request.user for request in server.requests).values()) == {1}
    assert len(server.requests) == 40


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e4), st.none() | st.floats(0, 10)), max_size=5))
def test_a_ledger_is_the_sum_of_what_processes_wrote(
    tmp_path_factory: pytest.TempPathFactory, processes: list[tuple[float, float | None]]
) -> None:
    folder = tmp_path_factory.mktemp("study")
    for dollars, sample in processes:
        one = Ledger(str(folder))
        one.own.dollars, one.own.sample = dollars, sample
        one.begin()
        one.end()
    reader = Ledger(str(folder))
    reader.read()
    assert reader.spent == pytest.approx(sum(dollars for dollars, _ in processes))
    known = [sample for _, sample in processes if sample is not None]
    assert reader.sample == max(known, default=None)
    assert not list_eval_logs(str(folder))


@pytest.mark.parametrize("where", ["folder", "url"])
def test_a_killed_process_is_counted_but_holds_nothing_back_for_long(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_TICK", 0.02)
    monkeypatch.setattr(ledger, "_GONE", 0.3)
    log_dir = str(tmp_path) if where == "folder" else f"memory://{tmp_path.name}"
    killed, other = Ledger(log_dir), Ledger(log_dir)
    killed.own.open = 3
    killed.begin()
    other.begin()
    killed.own.dollars = 2.5
    _until(lambda: (other.spent, other.open) == (2.5, 3))
    time.sleep(0.5)
    assert other.open == 3  # it still shows signs of life
    killed._ended.set()
    _until(lambda: other.open == 0)
    assert other.spent == 2.5
    other.end()


def _until(true: Callable[[], bool]) -> None:
    for _ in range(250):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("not within five seconds")
