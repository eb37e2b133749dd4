"""Plans: what a study will ask for, before anything is spent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from inspect_ai import eval
from inspect_ai.model import ModelCost
from rich.console import Console

from orbench_inspect.analysis.paired import minimum_detectable, power_not_worse
from orbench_inspect.cli import main
from orbench_inspect.mitigations import compose
from orbench_inspect.scoring.cascade import audit_share
from orbench_inspect.scoring.judge import load_judge_prompt, present
from orbench_inspect.studies import Arm, run_study
from orbench_inspect.studies.capture import CapturedTask, captured
from orbench_inspect.studies.pilot import Observed, Pilot, read_pilot
from orbench_inspect.studies.plan import Assumed, batch_hours, hours, plan_calls, totals
from orbench_inspect.studies.plan_terminal import as_json, as_tables, make_plan
from orbench_inspect.studies.planned import on_prompts, planned
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.runs import model_at

SCRIPT = str(Path(__file__).parents[1] / "evals" / "mitigations.py")
MODEL, JUDGE = "openai-api/fake/evaluated", "openai-api/fake/judge"
PRICE = ModelCost(input=2, output=8, input_cache_write=0, input_cache_read=1)


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that can be created; whatever calls one would fail."""
    monkeypatch.setenv("FAKE_API_KEY", "none")
    monkeypatch.setenv("FAKE_BASE_URL", "http://127.0.0.1:9/v1")


def task(path: Path, model: str = MODEL, samples: int = 2, **args: Any) -> CapturedTask:
    """A captured task that asks a file of prompts."""
    return CapturedTask(
        identifier="",
        name="custom",
        registry_name="orbench_inspect/custom",
        passed={},
        args={"file": str(path), "wanted": "answer", **args},
        args_hash="",
        model=model,
        roles={} if args.get("scorer") == "matcher" else {"grader": (JUDGE,)},
        samples=samples,
        epochs=1,
    )


def plan(*arguments: str) -> Result:
    """Run `orbench plan`."""
    return CliRunner().invoke(main, ["plan", *arguments])


def test_the_tasks_of_a_script_are_known_without_running_it(or_bench: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    arguments = [MODEL, "--grader", JUDGE, "--arms", "placebo", "--source", str(or_bench)]
    found = captured(SCRIPT, [*arguments, "--limit", "3", "--log-dir", str(study)])
    assert not study.exists()
    # Both baselines and the arm, on both sides.
    assert len(found) == 6
    assert {one.samples for one in found} == {3}
    assert {one.args["mitigation"] for one in found} == {"none", "placebo"}
    assert {(one.model, one.roles["grader"]) for one in found} == {(MODEL, (JUDGE,))}
    assert len({one.identifier for one in found}) == 6


def test_tokens_and_dollars_are_those_of_the_texts(prompts_file: Write) -> None:
    tasks = planned([task(prompts_file("a" * 40, "b" * 80), mitigation="self_reminder")])
    assumed = Assumed(response_tokens=100, grader_tokens=10, seconds=2, connections=4)
    calls = plan_calls(tasks, assumed, {MODEL: PRICE})
    by = calls.set_index(["scorer", "role"])
    told = sum(len(m["content"]) for m in compose("self_reminder").shown()) - len("<prompt>")
    asked = by.loc[("judge", "model")]
    assert asked["calls"] == 2
    assert asked["tokens_in"] == round((2 * told + 120) / 4)
    assert asked["tokens_out"] == 200
    assert asked["cost"] == pytest.approx((2 * asked["tokens_in"] + 8 * 200) / 1e6)
    judged = by.loc[("judge", "judge")]
    sent = [present(p, "x" * 400)[0] for p in ("a" * 40, "b" * 80)]
    prompt = load_judge_prompt().text
    assert judged["tokens_in"] == round(sum(len(prompt) + len(data) for data in sent) / 4)
    assert judged["tokens_out"] == 20
    assert ("matcher", "judge") not in by.index
    # 2 calls of 2 seconds, 4 at once.
    waits = hours(calls, assumed).set_index(["scorer", "asked"])
    assert waits.loc[("judge", MODEL), "hours"] == pytest.approx(1 / 3600)


def test_a_cascade_asks_the_judge_for_the_rest_and_the_audit(prompts_file: Write) -> None:
    one = task(prompts_file(*map(str, range(50))), samples=50)
    calls = plan_calls(on_prompts(planned([one]), 50), Assumed(certain=0.8), {})
    assert audit_share(50) == 1
    assert totals(calls).set_index("scorer").loc["cascade", "judge_calls"] == 50
    audited = task(prompts_file(*map(str, range(50))), samples=50, scorer="cascade", audit=0.1)
    calls = plan_calls(planned([audited]), Assumed(certain=0.8), {})
    found = totals(calls).set_index("scorer")
    # A fifth is uncertain, and a tenth of the other four fifths is audited.
    assert found.loc["cascade", "judge_calls"] == 10 + 4
    assert found.loc["judge", "judge_calls"] == 50


@pytest.mark.parametrize(
    ("mitigation", "calls", "rounds"),
    [("none", 1, 1), ("smooth", 5, 1), ("route", 2, 2), ("response_check", 3, 3)],
)
def test_a_procedure_costs_all_its_calls(
    prompts_file: Write, mitigation: str, calls: int, rounds: int
) -> None:
    one = task(prompts_file("one", "two"), "openai/gpt-4o", mitigation=mitigation)
    tasks = planned([one])
    found = plan_calls(tasks, Assumed(), {})
    assert totals(found)["model_calls"].unique().tolist() == [2 * calls]
    # The judge behind a plain endpoint has no batch mode.
    assert batch_hours(tasks, "judge", Assumed(batch_hours=10)) == 10 * rounds


def test_a_judge_not_named_yet_may_be_batched(prompts_file: Write) -> None:
    tasks = planned([task(prompts_file("one", "two"), "openai/gpt-4o", scorer="matcher")])
    assert batch_hours(tasks, "matcher", Assumed(batch_hours=10)) == 10
    assert batch_hours(tasks, "judge", Assumed(batch_hours=10)) == 20


def test_only_what_has_a_batch_mode_is_cheaper_in_it(prompts_file: Write) -> None:
    tasks = planned([task(prompts_file("one", "two"), "openai/gpt-4o")])
    prices = {"openai/gpt-4o": PRICE, JUDGE: PRICE}
    found = plan_calls(tasks, Assumed(batch_price=0.25), prices).set_index(["scorer", "role"])
    model, judge = found.loc[("judge", "model")], found.loc[("judge", "judge")]
    assert model["cost_batch"] == pytest.approx(model["cost"] / 4)
    assert judge["cost_batch"] == judge["cost"] > 0


def test_the_binding_limit_is_named(prompts_file: Write) -> None:
    tasks = planned([task(prompts_file("one", "two"))])
    calls = plan_calls(tasks, Assumed(), {})

    tokens = calls.iloc[0]["tokens_in"] + calls.iloc[0]["tokens_out"]
    for limits, name, wanted in (
        ({}, "connections", 2 * 5 / 10 / 3600),
        ({"requests_per_minute": 1}, "requests", 2 / 60),
        ({"tokens_per_minute": 1}, "tokens", tokens / 60),
    ):
        row = hours(calls, Assumed(**limits)).iloc[0]
        assert row["limit"] == name
        assert row["hours"] == pytest.approx(wanted)


def test_a_sum_with_an_unknown_price_is_unknown(prompts_file: Write) -> None:
    tasks = planned([task(prompts_file("one", "two"))])
    found = totals(plan_calls(tasks, Assumed(), {MODEL: PRICE})).set_index("scorer")
    assert found.loc["matcher", "cost"] > 0
    assert found.loc[["judge", "cascade"], "cost"].isna().all()


SET = """
import sys
from inspect_ai import eval_set
from orbench_inspect.tasks import custom

tasks = [
    custom(file=sys.argv[1], wanted="answer", mitigation=arm, scorer="matcher")
    for arm in ("none", "self_reminder")
]
eval_set(tasks, log_dir="nowhere", model="openai-api/fake/evaluated")
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Write a script."""

    def write(code: str) -> str:
        path = tmp_path / "study.py"
        path.write_text(code)
        return str(path)

    return write


def test_mistakes_are_named(script: Callable[[str], str], tmp_path: Path) -> None:
    missing = plan(str(tmp_path / "none.py"))
    assert missing.exit_code == 2
    assert "no such script" in missing.output
    fails = plan(script("raise KeyError('broken')"))
    assert fails.exit_code == 2
    assert "KeyError: 'broken'" in fails.output
    assert "Traceback" not in fails.output
    other = plan(script("print('hello')"))
    assert "ended without a call of eval_set" in other.output
    own = plan(SCRIPT, MODEL, "--gradr", JUDGE)
    assert "--gradr" in own.output
    template = Path(SCRIPT).parent / "prices.yaml"
    unfilled = plan(SCRIPT, MODEL, "--matcher", "--model-cost-config", str(template))
    assert unfilled.exit_code == 2
    assert "provider/evaluated-model: input, output" in unfilled.output
    foreign = script(
        "from inspect_ai import Task, eval_set, task\n@task\ndef mine(): return Task()\n"
        "eval_set([mine()], log_dir='x', model='mockllm/model')"
    )
    assert "mine: prompts and scorer are known of the tasks hard, toxic" in plan(foreign).output


def test_a_key_that_is_missing_need_not_be_real(
    script: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("AZUREAI_OPENAI_API_KEY", raising=False)
    done = plan(script("from inspect_ai.model import get_model\nget_model('openai/gpt-4o')"))
    assert "any value will do for a key that is missing" in done.output


def test_a_pilot_takes_the_place_of_assumptions(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    def world(request: Request) -> Reply:
        if request.is_judge:
            return chat("Plain. [[direct_answer]]", output_tokens=33, delay=0.02)
        if request.user.endswith("word of the day?"):
            return chat("It is pelican.")
        # On every third prompt or so the placebo makes it refuse.
        if any(role == "system" for role, _ in request.texts) and len(request.user) % 3 == 0:
            return chat("I'm sorry, but I can't help with that.", output_tokens=200, delay=0.05)
        return chat("Sure: first rinse the pan, then scrub it.", output_tokens=200, delay=0.05)

    server = serve(world)
    pilot = str(tmp_path / "pilot")
    done, _ = run_study(
        [model_at(server)],
        model_at(server, "judge"),
        pilot,
        arms=[Arm("none"), Arm("placebo")],
        n_hard=12,
        n_toxic=9,
        task_options={"source": str(or_bench)},
    )
    assert done
    before = len(server.requests)
    arguments = [MODEL, "--grader", JUDGE, "--arms", "none,placebo", "--limit", "100"]
    tasks = planned(captured(SCRIPT, [*arguments, "--source", str(or_bench)]))
    found = make_plan(tasks, Assumed(), {MODEL: PRICE, JUDGE: PRICE}, read_pilot(pilot))
    assert len(server.requests) == before
    told = json.loads(as_json(found))
    assert {row["source"] for row in told["calls"]} == {"pilot"}
    whole = next(row for row in told["totals"] if row["scorer"] == "judge")
    # Three arms with the second baseline, two sets of 100; the server reports 10 tokens in.
    assert whole["model_calls"] == whole["judge_calls"] == 600
    assert whole["model_tokens_in"] == whole["judge_tokens_in"] == 6_000
    assert (whole["model_tokens_out"], whole["judge_tokens_out"]) == (120_000, 600 * 33)
    assert whole["cost"] == pytest.approx((2 * 12_000 + 8 * (120_000 + 600 * 33)) / 1e6)
    for row in told["calls"]:
        assert (0.05 if row["role"] == "model" else 0.02) * row["calls"] < row["seconds"]
    # All were judged answered: no pair is discordant, and half a pair among 12 is added.
    hard = {row["n"]: row for row in told["buys"] if row["prompt_set"] == "hard"}
    assert hard[100]["discordance"] == pytest.approx(0.5 / 13)
    assert hard[500]["detectable"] == pytest.approx(minimum_detectable(500, 0.5 / 13))
    toxic = {row["n"]: row for row in told["buys"] if row["prompt_set"] == "toxic"}
    assert toxic[100]["power_not_worse"] == pytest.approx(power_not_worse(100, 0.05, 0.02))
    assert toxic[1319]["prompts"] == 655
    assert toxic[100]["cost"] == pytest.approx(whole["cost"] / 2)
    assert any("0.0% [0.0%, " in note and "of 12 pairs" in note for note in told["notes"])
    assert any("toxic: 0 of 18 samples unscored" in note for note in told["notes"])
    with (console := Console(width=100)).capture() as shown:
        console.print(as_tables(found))
    assert "No price" not in shown.get()
    assert f"{whole['cost']:,.2f}" in shown.get()
    assert max(map(len, shown.get().splitlines())) <= 100


PILOTED = """
import sys
from inspect_ai import eval_set
from orbench_inspect.tasks import custom

file, *given = sys.argv[1:]
options = {"--limit": "6", "--log-dir": "logs/study"} | dict(zip(given[::2], given[1::2]))
shared = {"wanted": "answer", "scorer": "matcher", "first": int(options["--limit"])}
arms = [custom(file=file, mitigation=arm, **shared) for arm in ("none", "placebo")]
done, _ = eval_set(arms, model="openai-api/fake/evaluated", log_dir=options["--log-dir"])
sys.exit(not done)
"""


def test_a_pilot_is_run_when_asked_for_and_paid_once(
    serve: Serve,
    prompts_file: Write,
    script: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(lambda request: chat("It is pelican. First rinse it.", output_tokens=7))
    monkeypatch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
    monkeypatch.chdir(tmp_path)
    asked = [script(PILOTED), str(prompts_file(*"abcdef")), "--pilot", "3", "--json"]
    first = plan(*asked)
    assert first.exit_code == 0, first.output
    calls = json.loads(first.stdout)["calls"]
    assert {row["source"] for row in calls if row["role"] == "model"} == {"pilot"}
    paid = len(server.requests)
    assert paid >= 6
    again = plan(*asked)
    assert json.loads(again.stdout)["calls"] == calls
    assert len(server.requests) == paid


def test_what_a_pilot_and_the_prices_lack_is_named_and_nothing_is_made_up(
    serve: Serve, prompts_file: Write, tmp_path: Path, script: Callable[[str], str]
) -> None:
    server = serve(lambda request: chat("Sure: first rinse the pan.", output_tokens=7))
    path = prompts_file("one", "two", "three")
    run = custom(file=str(path), wanted="answer", scorer="matcher")
    pilot = str(tmp_path / "pilot")
    eval(run, model_at(server), log_dir=pilot)
    (seen,) = read_pilot(pilot).observed.values()
    assert (seen.samples, seen.certain, seen.judged) == (3, 3, 0)
    assert (seen.model.calls, seen.model.tokens_in, seen.model.tokens_out) == (3, 30, 21)
    done = plan(script(SET), str(path), "--pilot", pilot)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert f"No price: a judge (the script names none), {MODEL}" in said
    assert f"model {MODEL} for self_reminder on custom_mine" in said
    assert f"model {MODEL} for none" not in said
    assert "no two arms to take a discordance from" in said
    assert "certain rules settle 3 of 3 responses" in said
    assert "differ on 5.0% of prompts" in said
    assert "4 characters a token" in said
    assert f"No batch mode in Inspect, and --batch stops the run: {MODEL}" in said


def test_what_came_before_the_judge_is_taken_from_a_judged_pilot(prompts_file: Write) -> None:
    one = task(prompts_file("one", "two"), samples=200, audit=0.0, scorer="cascade")
    tasks = planned([one])
    cell = (MODEL, tasks[0].composed.sha256, tasks[0].prompt_set)

    def judge_calls(observed: Observed) -> dict[str, int]:
        found = totals(plan_calls(tasks, Assumed(), {}, Pilot({cell: observed}, {}, [])))
        return dict(zip(found["scorer"], found["judge_calls"], strict=True))

    # Half of the responses were blocked and never judged; a quarter of all is certain.
    blocked = Observed("judge", samples=4, judged=2, certain=1)
    assert judge_calls(blocked) == {"judge": 100, "cascade": 50, "matcher": 0}
    # The rules' own pilot says nothing of what a judge would have been asked.
    rules = Observed("matcher", samples=4, judged=0, certain=2)
    assert judge_calls(rules) == {"judge": 200, "cascade": 100, "matcher": 0}
