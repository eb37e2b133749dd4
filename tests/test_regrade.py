"""`orbench regrade`: whom it asks, about what, and what becomes of the log."""

import _thread
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from inspect_ai import eval
from inspect_ai.log import (
    EvalLog,
    ProvenanceData,
    edit_score,
    list_eval_logs,
    read_eval_log,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.scorer import Score, ScoreEdit

from orbench_inspect.analysis import read_runs
from orbench_inspect.analysis.judge_success import judge_success
from orbench_inspect.cli import main
from orbench_inspect.scoring.judge import load_judge_prompt
from orbench_inspect.scoring.left_open import judge_said, left_open
from orbench_inspect.studies import judge_again
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import model_at
from tests.scoring.test_cascade import BETWEEN, REFUSAL

FAKE = "openai-api/fake"


def saying(**say: str | Reply) -> Callable[[Request], Reply]:
    """Judges, told apart by name, that each say their own; others call all an answer."""

    def reply(request: Request) -> Reply:
        if not request.is_judge:
            return error(400) if "fails" in request.user else chat(f"Sure: {request.user}")
        if "capital of France" in request.user:
            return chat("[[direct_answer]]")
        said = say.get(request.body["model"], "[[direct_answer]]")
        return chat(said) if isinstance(said, str) else said

    return reply


def run(serve: Serve, path: Path, judges: str | list[str] = "first", **options: Any) -> EvalLog:
    """A log with judges that call all an answer, or say what `reply` does."""
    reply = options.pop("reply", saying())
    roles = options.pop("roles", {})
    server = serve(reply)
    names = judges if isinstance(judges, list) else [judges]
    bound: Any = [model_at(server, name) for name in names]
    task = custom(file=str(path), wanted="answer", **options)
    return eval(
        task,
        model=model_at(server),
        model_roles={"grader": bound if len(bound) > 1 else bound[0]}
        | {role: model_at(server, name) for role, name in roles.items()},
        log_dir=str(path.parent / "logs"),
    )[0]


def orbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def scores_of(log: EvalLog | str, name: str) -> list[Score]:
    read = read_eval_log(log if isinstance(log, str) else log.location)
    return [(sample.scores or {})[name] for sample in read.samples or []]


def names_of(log: EvalLog) -> set[str]:
    return {n for s in read_eval_log(log.location).samples or [] for n in s.scores or {}}


def edited(log: EvalLog, score: str, n: int, answer: str, **told: Any) -> None:
    """Have a score of the nth sample say something else, or a person add one."""
    whole = read_eval_log(log.location)
    assert whole.samples
    sample = whole.samples[n]
    old = (sample.scores or {}).get(score)
    by = ProvenanceData(author="a person", reason="a test")
    metadata = {**(old.metadata or {}), **told} if old else told
    edit = ScoreEdit(
        value=1.0 if answer == "refused" else math.nan,
        answer=answer,
        metadata=metadata,
        provenance=by,
    )
    edit_score(whole, sample.id, score, edit, recompute_metrics=False, epoch=1)
    recompute_metrics(whole)
    write_eval_log(whole, log.location)


@pytest.mark.parametrize(
    ("grader", "judge", "temperature"),
    [
        (f"{FAKE}/c,{FAKE}/a,{FAKE}/b", f"panel of {FAKE}/a, {FAKE}/b, {FAKE}/c", 0),
        (f"[{FAKE}/c, {FAKE}/a]", f"panel of {FAKE}/a, {FAKE}/c", 0),
        (f"{{model: {FAKE}/a, temperature: 0.5, model_args: {{}}}}", f"{FAKE}/a", 0.5),
        (f"[{{model: {FAKE}/a, temperature: 0.5}}]", f"{FAKE}/a", 0.5),
        (f"{FAKE}/a:free", f"{FAKE}/a:free", 0),
    ],
)
def test_judges_are_named_as_the_role_takes_them(
    serve: Serve,
    grading: Serve,
    prompts_file: Write,
    grader: str,
    judge: str,
    temperature: float,
) -> None:
    log = run(serve, prompts_file("one", "two"))
    server = grading(saying())
    done = orbench("regrade", log.location, "--grader", grader)
    assert done.exit_code == 0, done.output
    assert {(s.metadata or {})["judge"] for s in scores_of(log, "refusal1")} == {judge}
    assert {r.body["temperature"] for r in server.requests} == {temperature}
    assert len(server.judged) == 2 * (judge.count(",") + 1)


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        (f"{FAKE}/a,", "one of the judges has no name"),
        ("{temperature: 0.5}", "one of the judges has no name"),
        ("{model: [", "not a name, and not YAML"),
        (f"{{model: {FAKE}/a, batch: 10}}", f"batch is set for {FAKE}/a"),
        (f"{FAKE}/a,{FAKE}/mute", f"the judge {FAKE}/mute could not grade a plain example"),
    ],
)
def test_a_panel_with_a_member_that_is_none_leaves_the_logs(
    serve: Serve, grading: Serve, prompts_file: Write, grader: str, message: str
) -> None:
    log = run(serve, prompts_file("one"))
    before = Path(log.location).read_bytes()
    grading(lambda r: error(404) if r.body["model"] == "mute" else saying()(r))
    done = orbench("regrade", log.location, "--grader", grader)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert Path(log.location).read_bytes() == before


@pytest.mark.parametrize(
    "in_memory", [2_000, pytest.param(1, marks=pytest.mark.slow)], ids=["memory", "file"]
)
def test_large_or_small_a_log_keeps_all_and_gains_a_score(
    serve: Serve,
    grading: Serve,
    prompts_file: Write,
    monkeypatch: pytest.MonkeyPatch,
    in_memory: int,
) -> None:
    """A panel, a prompt file with a comma beside one, an error, a label, gone judges' keys."""
    monkeypatch.setattr(judge_again, "IN_MEMORY", in_memory)
    path = prompts_file("one", "two", "this fails", "four")
    log = run(serve, path, roles={"second_grader": "second"})
    edited(log, "human", 1, "refused")
    rubric = path.parent / "mine, the 2nd.md"
    rubric.write_text(load_judge_prompt("strict").text + "\nBe brisk.\n")
    monkeypatch.chdir(path.parent)
    monkeypatch.delenv("FAKE_API_KEY", raising=False)
    before = read_eval_log(log.location)
    server = grading(saying(a="[[direct_refusal]]", b="[[indirect_refusal]]", second="no"))
    grader = f"{FAKE}/b,{FAKE}/a"
    rubric_given = "./mine, the 2nd.md"
    done = orbench("regrade", "logs", "--grader", grader, "--judge-prompt", rubric_given)
    assert done.exit_code == 0, done.output
    assert "4 responses: 3 judged, 1 without anything to judge; judge success" in done.output
    assert len(server.judged) == 6
    assert server.generated == []
    after = read_eval_log(log.location)
    assert after.results
    assert before.results
    assert after.eval.model_roles == before.eval.model_roles
    assert after.results.headline == before.results.headline
    assert after.results.early_stopping == before.results.early_stopping
    kept = len(before.results.scores)
    assert after.results.scores[:kept] == before.results.scores
    assert [s.name for s in after.results.scores[kept:]] == ["refusal1", "outcome1"]
    assert after.results.scores[kept].metrics["refusal_rate"].value == 1.0
    for old, new in zip(before.samples or [], after.samples or [], strict=True):
        assert (new.id, new.uuid, new.output, new.error) == (
            old.id,
            old.uuid,
            old.output,
            old.error,
        )
        scores = dict(new.scores or {})
        told = scores.pop("refusal1")
        assert scores.pop("outcome1").value == told.answer
        assert json.dumps({k: s.model_dump(mode="json") for k, s in scores.items()}) == json.dumps(
            {k: s.model_dump(mode="json") for k, s in (old.scores or {}).items()}
        )
        if told.answer != "model_error":
            meta = told.metadata or {}
            assert meta["judge_prompt"] == "mine, the 2nd"
            assert meta["judge_prompt_sha256"] == load_judge_prompt(str(rubric)).sha256
    resume = next(s for s in (after.eval.scorers or []) if "resume" in (s.options or {}))
    assert isinstance(yaml.safe_load((resume.options or {})["resume"]), str)
    assert [p.name for p in (path.parent / "logs").iterdir()] == [Path(log.location).name]


def test_a_log_as_json_is_judged_as_any_other(
    serve: Serve, grading: Serve, prompts_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = run(serve, prompts_file("one", "two"))
    as_json = Path(log.location).with_suffix(".json")
    write_eval_log(read_eval_log(log.location), str(as_json))
    Path(log.location).unlink()
    monkeypatch.setattr(judge_again, "IN_MEMORY", 1)
    grading(saying(a="[[direct_refusal]]"))
    done = orbench("regrade", as_json.parent, "--grader", f"{FAKE}/a")
    assert done.exit_code == 0, done.output
    assert [s.answer for s in scores_of(str(as_json), "refusal1")] == ["direct_refusal"] * 2
    assert json.loads(as_json.read_text())["eval"]["task"] == "orbench_inspect/custom"


def cascade(request: Request) -> Reply:
    """Refuses plainly or not; the judge cannot be reached for either."""
    if request.is_judge:
        france = "capital of France" in request.user
        return chat("[[direct_answer]]") if france else error(400, "gone")
    return chat(REFUSAL if "plain" in request.user else BETWEEN)


def test_missing_completes_a_cascade_and_its_audit(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    path = prompts_file("plain one", "plain two", "other one", "other two")
    log = run(serve, path, reply=cascade, scorer="cascade", audit=1.0)
    edited(log, "refusal", 0, "refused", audit_outcome="direct_refusal")
    audits = [(s.metadata or {}).get("audit_outcome") for s in scores_of(log, "refusal")]
    server = grading(saying(first="[[indirect_refusal]]"))
    done = orbench("regrade", log.location, "--grader", f"{FAKE}/first", "--missing")
    assert done.exit_code == 0, done.output
    assert "3 of 4 were open: 3 judged; judge success 100.0%" in done.output
    assert len(server.judged) == 3
    told = [(s.answer, s.metadata or {}) for s in scores_of(log, "refusal1")]
    assert {meta["judge"] for _, meta in told} == {
        (s.metadata or {})["judge"] for s in scores_of(log, "refusal")
    }
    assert [meta["decided_by"] for _, meta in told].count("rules") == 2
    assert sum("kept_from" in meta for _, meta in told) == 1
    assert audits.count("judge_error") == 1
    assert sorted(str(meta.get("audit_outcome")) for _, meta in told) == [
        "None",
        "None",
        "direct_refusal",
        "indirect_refusal",
    ]
    again = orbench("regrade", log.location, "--grader", f"{FAKE}/first", "--missing")
    assert "nothing is missing" in again.output
    assert read_runs(log.location).runs["judges"].tolist() == [1]


def test_missing_completes_this_judge_and_not_the_last_one(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file("one", "two"))
    edited(log, "refusal", 1, "judge_error")
    server = grading(saying(other="[[direct_refusal]]", first="[[indirect_refusal]]"))
    assert orbench("regrade", log.location, "--grader", f"{FAKE}/other").exit_code == 0
    done = orbench("regrade", log.location, "--grader", f"{FAKE}/first", "--missing")
    assert done.exit_code == 0, done.output
    assert "refusal2: 1 of 2 were open: 1 judged" in done.output
    assert len(server.judged) == 3
    assert [s.answer for s in scores_of(log, "refusal2")] == ["direct_answer", "indirect_refusal"]


def test_missing_leaves_a_log_without_a_score_of_the_judge(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file("one"))
    before = Path(log.location).read_bytes()
    grading(saying())
    for options in (("--grader", f"{FAKE}/x"), ("--grader", f"{FAKE}/first,{FAKE}/x")):
        done = orbench("regrade", log.location, *options, "--missing")
        assert done.exit_code == 1
        assert f"no score of {options[1]}" in done.output or "no score of panel of" in done.output
        assert f"there are those of: {FAKE}/first strict@" in done.output
    lenient = ("--grader", f"{FAKE}/first", "--judge-prompt", "lenient")
    assert orbench("regrade", log.location, *lenient, "--missing").exit_code == 1
    assert Path(log.location).read_bytes() == before


def test_a_judge_that_fails_again_leaves_it_open_and_says_so(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file("one", "two"))
    edited(log, "refusal", 0, "judge_error")
    grading(saying(first=error(400)))
    done = orbench("regrade", log.location, "--grader", f"{FAKE}/first", "--missing")
    assert done.exit_code == 1
    assert (
        "1 of 2 were open: 0 judged, 1 judge_error; judge success 0.0%; run again with --missing"
    ) in done.output


def test_a_tie_is_no_failure_and_a_missing_vote_is(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    def reply(request: Request) -> Reply:
        if "lost" in request.user and request.body["model"] == "b":
            return error(400)
        return saying(b="[[direct_refusal]]")(request)

    log = run(serve, prompts_file("tied one", "tied two", "lost"), ["a", "b"], reply=reply)
    assert {s.answer for s in scores_of(log, "refusal")} == {"unresolved"}
    said = sorted(str(judge_said(s)) for s in scores_of(log, "refusal"))
    assert said == ["tied", "tied", "unresolved"]
    assert sum(left_open(s) for s in scores_of(log, "refusal")) == 1
    assert log.results
    assert log.results.early_stopping
    record = log.results.early_stopping.metadata
    assert record["judged"] == {"responses": 3, "tied": 2, "unresolved": 1}
    assert "the panel tied on 2 of 3 responses (66.7%)" in str(record["warnings"])
    success = judge_success(read_runs(log.location)).iloc[0]
    assert (success["tied"], success["unresolved"], success["success"]) == (2, 1, 2 / 3)
    server = grading(saying(b="[[direct_refusal]]"))
    command = ("regrade", log.location, "--grader", f"{FAKE}/a,{FAKE}/b", "--missing")
    done = orbench(*command)
    assert done.exit_code == 0, done.output
    assert "1 of 3 were open: 0 judged, 1 tied; judge success 100.0%" in done.output
    assert len(server.judged) == 2
    assert "nothing is missing" in orbench(*command).output


def test_interrupted_it_leaves_the_log_and_pays_for_nothing_twice(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file(*(f"number {n}" for n in range(40))))
    before = Path(log.location).read_bytes()
    answered = iter(range(1_000))

    def interrupting(request: Request) -> Reply:
        if "capital of France" not in request.user and next(answered) == 20:
            _thread.interrupt_main()
        return saying()(request)

    server = grading(interrupting)
    command = ("regrade", log.location, "--grader", f"{FAKE}/a")
    assert orbench(*command).exit_code != 0
    assert Path(log.location).read_bytes() == before
    assert list(Path(log.location).parent.glob(".*")) == []
    first = len(server.judged)
    assert first >= 20
    done = orbench(*command)
    assert done.exit_code == 0, done.output
    # Replies that came back are not asked for again; what was under way then never came back.
    assert len(server.judged) < first + 40


def test_what_a_killed_pass_left_is_no_log_and_is_removed(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file("one"))
    file = Path(log.location)
    stale = file.with_name(f".{file.name}.123.part")
    stale.write_bytes(file.read_bytes())
    assert len(list_eval_logs(str(file.parent))) == 1
    grading(saying())
    done = orbench("regrade", file.parent, "--grader", f"{FAKE}/first", "--missing")
    assert "nothing is missing" in done.output
    assert not stale.exists()


def test_a_log_changed_meanwhile_is_left_alone(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file("one"))

    def changing(request: Request) -> Reply:
        if "capital of France" not in request.user:
            edited(log, "human", 0, "refused")
        return saying()(request)

    grading(changing)
    done = orbench("regrade", log.location, "--grader", f"{FAKE}/a")
    assert done.exit_code == 2
    assert "changed while it was judged, and was left alone" in done.output
    assert names_of(log) >= {"human", "refusal"}
    assert "refusal1" not in names_of(log)


def test_an_unfinished_log_is_named_unless_a_later_attempt_finished(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    log = run(serve, prompts_file("one"))
    file = Path(log.location)
    killed = read_eval_log(log.location)
    killed.results, killed.status = None, "started"
    killed.eval.created = "2020-01-01T00:00:00+00:00"
    write_eval_log(killed, str(file.with_name("2020-01-01T00-00-00+00-00_custom_killed.eval")))
    (file.parent / "broken.eval").write_text("no log")
    grading(saying())
    done = orbench("regrade", file.parent, "--grader", f"{FAKE}/a")
    assert "refusal1: 1 responses: 1 judged" in done.output
    assert "not finished" not in done.output
    assert "broken.eval: cannot be read" in done.output
    assert "2 logs, 1 of them complete: 1 responses judged, 0 still open" in done.output
    assert done.exit_code == 1
    file.unlink()
    alone = orbench("regrade", file.parent, "--grader", f"{FAKE}/a")
    assert alone.exit_code == 1
    assert "killed.eval: status started, not finished: inspect eval-retry first" in alone.output


def test_text_before_a_block_that_the_judge_left_open_is_completed(
    serve: Serve, grading: Serve, prompts_file: Write
) -> None:
    """Blocked or not, all of a cascade's scores are of one judge."""

    def reply(request: Request) -> Reply:
        if request.is_judge:
            return cascade(request)
        return chat(REFUSAL, finish="content_filter" if "blocked" in request.user else "stop")

    log = run(serve, prompts_file("blocked", "plain"), reply=reply, scorer="cascade", audit=0.0)
    told = [(score.answer, judge_said(score)) for score in scores_of(log, "refusal")]
    assert sorted(told, key=str) == [
        ("direct_refusal", None),
        ("provider_refusal", "judge_error"),
    ]
    assert read_runs(log.location).runs["judges"].tolist() == [1]
    grading(saying(first="[[direct_refusal]]"))
    done = orbench("regrade", log.location, "--grader", f"{FAKE}/first", "--missing")
    assert "1 of 2 were open: 1 judged" in done.output
    blocked = next(s for s in scores_of(log, "refusal1") if s.answer == "provider_refusal")
    assert (blocked.metadata or {})["verdict_before_block"] == "direct_refusal"
    assert read_runs(log.location).runs["judges"].tolist() == [1]


def test_a_sample_that_failed_stays_without_a_score(
    serve: Serve, grading: Serve, prompts_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = run(serve, prompts_file("one", "two", "three"))
    whole = read_eval_log(log.location)
    assert whole.samples
    whole.samples[0].scores = None
    write_eval_log(whole, log.location)
    grading(saying(first=error(400), other="[[direct_refusal]]"))
    none = orbench("regrade", log.location, "--grader", f"{FAKE}/first", "--missing")
    assert "nothing is missing" in none.output
    for limit, name in ((2_000, "refusal1"), (1, "refusal2")):
        monkeypatch.setattr(judge_again, "IN_MEMORY", limit)
        done = orbench("regrade", log.location, "--grader", f"{FAKE}/other")
        assert done.exit_code == 0, done.output
        assert f"{name}: 3 responses: 2 judged, 1 failed in the run" in done.output
    after = read_eval_log(log.location)
    assert [len(sample.scores or {}) for sample in after.samples or []] == [0, 7, 7]
    assert read_runs(log.location).samples["outcome"].tolist().count("model_error") == 2
