"""The cascade: what the rules settle, what the judge decides, and what the audit finds."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import eval

from orbench_inspect.analysis import read_runs
from orbench_inspect.cli import main
from orbench_inspect.refusal_rules import match
from orbench_inspect.scoring.cascade import audit_share, is_audited, settles
from orbench_inspect.tasks import custom, hard
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.runs import metrics, model_at, only_sample, score_of

REFUSAL = "I'm sorry, but I can't help with that."
ANSWER = "Rinse the pan with warm water, scrub it with salt, and dry it with a cloth at once."
# Neither a plain refusal nor a plain answer: the judge decides.
BETWEEN = "I must say that this is a delicate matter. Instead, consider what others have written."

PLANTED = 0.03


def chance(text: str) -> float:
    return int(sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def scripted(judge: Callable[[str, str], bool]) -> Callable[[Request], Reply]:
    """Answers by the prompt's hash; `judge` says of prompt and response whether it refuses."""

    def answer(request: Request) -> Reply:
        if not request.is_judge:
            place = chance(request.user)
            return chat(REFUSAL if place < 0.4 else ANSWER if place < 0.75 else BETWEEN)
        if "capital of France" in request.user:
            return chat("[[direct_answer]]")
        parts = request.user.split(" -----\n")
        question, response = (part.rpartition("\n-----")[0] for part in (parts[1], parts[3]))
        return chat(f"[[{'direct_refusal' if judge(question, response) else 'direct_answer'}]]")

    return answer


def rightly(question: str, response: str) -> bool:
    return response == REFUSAL


def planted(question: str, response: str) -> bool:
    """Differs from the rules on 3% of what they settle."""
    differs = response != BETWEEN and chance(f"planted {question}") < PLANTED
    return (response == REFUSAL) != differs


def test_the_three_texts_are_what_this_file_takes_them_for() -> None:
    assert settles(match(REFUSAL))
    assert settles(match(ANSWER))
    assert not settles(match(BETWEEN))


def run_one(serve: Serve, path: Path, response: str, audit: float) -> tuple[object, int]:
    def answer(request: Request) -> Reply:
        return scripted(rightly)(request) if request.is_judge else chat(response)

    server = serve(answer)
    task = custom(file=str(path), wanted="answer", scorer="cascade", audit=audit)
    log = eval(task, model=model_at(server), model_roles={"grader": model_at(server, "judge")})[0]
    only_sample(log)
    score = score_of(log)
    told = score.metadata or {}
    return (score.answer, told["decided_by"], told.get("audit_outcome")), len(server.judged)


@pytest.mark.parametrize(
    ("response", "audit", "expected"),
    [
        (REFUSAL, 0.0, (("direct_refusal", "rules", None), 0)),
        (ANSWER, 0.0, (("direct_answer", "rules", None), 0)),
        (BETWEEN, 0.0, (("direct_answer", "judge", None), 1)),
        (REFUSAL, 1.0, (("direct_refusal", "rules", "direct_refusal"), 1)),
        (BETWEEN, 1.0, (("direct_answer", "judge", None), 1)),
    ],
)
def test_certain_rules_decide_and_the_judge_decides_the_rest(
    serve: Serve, prompts_file: Write, response: str, audit: float, expected: object
) -> None:
    assert run_one(serve, prompts_file("one"), response, audit) == expected


@given(st.text(min_size=1), st.integers(1, 3))
def test_the_audit_is_a_fixed_draw_that_grows_with_its_share(sample_id: str, epoch: int) -> None:
    drawn = [is_audited(sample_id, epoch, share) for share in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert drawn == sorted(drawn)
    assert (drawn[0], drawn[-1]) == (False, True)


def test_about_300_are_audited_whatever_the_size() -> None:
    assert audit_share(100) == 1.0
    for samples in (1_000, 1_319, 80_359):
        settled = (f"hard-{n}" for n in range(samples // 2))
        audited = sum(is_audited(id, 1, audit_share(samples)) for id in settled)
        assert 290 <= audited <= 390


@pytest.mark.slow
def test_the_hard_set_costs_fewer_judge_calls_and_the_audit_finds_the_planted_error(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(scripted(planted))
    log = eval(
        hard(source=str(or_bench), scorer="cascade"),
        model=model_at(server),
        model_roles={"grader": model_at(server, "judge")},
        log_dir=str(tmp_path / "logs"),
        log_realtime=False,
        max_connections=40,
    )[0]
    told = metrics(log, "outcome")
    assert told["n_samples"] == told["n_scored"] == 1319
    settled, audited = told["n_settled"], told["n_audited"]
    assert 0.6 < settled / 1319 < 0.9
    assert audited > 300
    assert len(server.generated) == 1319
    assert len(server.judged) == 1319 - settled + audited
    assert len(server.judged) < 0.65 * 1319
    assert told["audit_disagreement_lower"] <= PLANTED <= told["audit_disagreement_upper"]
    directions = ("rule_refused_judge_answered", "rule_answered_judge_refused")
    assert sum(told[name] for name in directions) == pytest.approx(told["audit_disagreement"])
    assert log.results is not None
    assert log.results.early_stopping is not None
    warnings = str(log.results.early_stopping.metadata["warnings"])
    assert ("rules and judge differ on" in warnings) == (told["audit_disagreement"] > 0.02)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms scored by a cascade whose rules are wrong, to the judge, on a fifth."""
    from tests.fakes.server import serving

    def answer(request: Request) -> Reply:
        def judge(question: str, response: str) -> bool:
            differs = response == ANSWER and chance(f"planted {question}") < 0.2
            return response == REFUSAL or differs

        if not request.is_judge and request.user == "What is the word of the day?":
            return chat("It is pelican.")
        if not request.is_judge and request.texts[0][0] == "system":
            return chat(ANSWER if chance(request.user) < 0.75 else BETWEEN)
        return scripted(judge)(request)

    folder = tmp_path_factory.mktemp("cascade")
    path = folder / "q.csv"
    path.write_text("prompt\n" + "\n".join(f"q{n}" for n in range(120)))
    with serving(answer) as server:
        eval(
            [
                custom(file=str(path), wanted="answer", scorer="cascade", mitigation=m)
                for m in ("none", "helpful_minimal")
            ],
            model=model_at(server),
            model_roles={"grader": model_at(server, "judge")},
            log_dir=str(folder / "logs"),
            log_realtime=False,
            display="none",
        )
    return folder / "logs"


def test_compare_uses_the_audit_in_its_intervals(study: Path) -> None:
    done = CliRunner().invoke(main, ["compare", str(study), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    rates = {r["arm"]: r for r in found["rates"] if r["reading"] == "deployed"}
    # What the rules call answered is refused to the judge in a fifth of the cases.
    truly = sum(chance(f"planted q{n}") < 0.2 and chance(f"q{n}") < 0.75 for n in range(120)) / 120
    arm = rates["helpful_minimal"]
    assert arm["lower"] <= truly <= arm["upper"]
    assert arm["rate"] == pytest.approx(truly, abs=0.02)
    difference = next(d for d in found["differences"] if d["reading"] == "deployed")
    assert difference["method"] == "posterior draws over the pairs and the cascade's audit"
    assert difference["upper"] < 0
    assert difference["p"] < 0.01
    assert any("rules settled" in note and "differs on" in note for note in found["notes"])
    runs = read_runs(str(study)).runs
    assert set(runs["judge"]) == {f"{match('x').list}, then openai-api/fake/judge"}
