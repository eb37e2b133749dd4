"""From a study to labels by hand, to corrected rates, and to another judge: end to end.

Truth is planted: each response says by a word of its own whether a human would call it
refused, and the judge errs by a fixed share that differs by side.
"""

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
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
from inspect_ai.scorer import ScoreEdit

from orbench_inspect.analysis import read_runs
from orbench_inspect.analysis.arms import arms_of
from orbench_inspect.analysis.calibration import from_labels
from orbench_inspect.analysis.hand_labels import join_labels
from orbench_inspect.analysis.labelled_share import LabelledShare
from orbench_inspect.cli import main
from orbench_inspect.tasks import custom
from tests.conftest import Serve
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.fakes.server import serving
from tests.runs import model_at

PROMPTS = 100
TRULY_REFUSED, TRULY_ANSWERED = "basalt", "willow"
FORMULA = "=HYPERLINK(1)"

# By arm and side: how often a human would call the response refused.
RATES = {("none", "q"): 0.5, ("bold", "q"): 0.2, ("none", "x"): 0.9, ("bold", "x"): 0.85}
# By side: how often the judge misses a refusal, and sees one where there is none.
MISSES, INVENTS = {"q": 0.25, "x": 0.02}, {"q": 0.02, "x": 0.3}


def chance(*parts: object) -> float:
    return int(sha256(repr(parts).encode()).hexdigest()[:8], 16) / 16**8


def answer(request: Request) -> Reply:
    if request.user == "What is the word of the day?":
        return chat("It is pelican.")
    arm = "bold" if request.texts[0][0] == "system" else "none"
    refused = chance(arm, request.user) < RATES[arm, request.user[0]]
    return chat(f"{FORMULA} {arm} {TRULY_REFUSED if refused else TRULY_ANSWERED} {request.user}")


def judge(request: Request) -> Reply:
    if "capital of France" in request.user:
        return chat("[[direct_answer]]")
    refused = TRULY_REFUSED in request.user
    side = request.user.split("-----\n")[1][0]
    wrong = chance("judge", request.user) < (MISSES if refused else INVENTS)[side]
    return chat(f"[[{'direct_refusal' if refused != wrong else 'direct_answer'}]]")


def right(request: Request) -> Reply:
    if "capital of France" in request.user:
        return chat("[[direct_answer]]")
    return chat(f"[[{'direct_refusal' if TRULY_REFUSED in request.user else 'direct_answer'}]]")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two arms on two sides, judged by a judge of known error."""
    folder = tmp_path_factory.mktemp("judging")
    (folder / "bold.md").write_text("Be bold.")
    for side in "qx":
        rows = "\n".join(f"{side} number {n}" for n in range(PROMPTS))
        (folder / f"{side}.csv").write_text(f"prompt\n{rows}\n")
    with serving(answer) as model, serving(judge) as grader:
        eval(
            [
                custom(file=str(folder / f"{side}.csv"), wanted=wanted, mitigation=mitigation)
                for mitigation in ("none", str(folder / "bold.md"))
                for side, wanted in (("q", "answer"), ("x", "refuse"))
            ],
            model=model_at(model),
            model_roles={"grader": model_at(grader, "erring")},
            log_dir=str(folder / "logs"),
            log_realtime=False,
            display="none",
        )
    return folder / "logs"


@pytest.fixture
def copy(study: Path, tmp_path: Path) -> Path:
    """The study's logs, to be changed."""
    return Path(shutil.copytree(study, tmp_path / "study"))


def orbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, label: Callable[[dict[str, str]], str]) -> Path:
    """Label a sheet as a person would, in a spreadsheet that rewrites line ends."""
    rows = [{**row, "label": label(row)} for row in rows_of(path)]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def truth(row: dict[str, str]) -> str:
    return "refused" if TRULY_REFUSED in row["response"] else "answered"


def drawn(study: Path, tmp_path: Path, n: int = 200, *options: object) -> Path:
    path = tmp_path / f"labels{n}.csv"
    done = orbench("draw", study, "-n", n, "-o", path, *options)
    assert done.exit_code == 0, done.output
    return path


def true_rate(arm: str, side: str) -> float:
    prompts = (f"{side} number {n}" for n in range(PROMPTS))
    return sum(chance(arm, prompt) < RATES[arm, side] for prompt in prompts) / PROMPTS


def test_a_sheet_is_drawn_by_verdict_and_does_not_show_it(study: Path, tmp_path: Path) -> None:
    path = drawn(study, tmp_path, 200)
    rows = rows_of(path)
    assert len(rows) == 200
    assert list(rows[0]) == [
        *("row", "prompt", "response", "label", "comment", "drawn_by", "drawn")
    ]
    assert {row["drawn_by"].split("@")[0] for row in rows} == {"openai-api/fake/erring strict"}
    assert not any("refusal" in cell for row in rows for cell in row.values())
    assert all(row["response"].startswith(f"'{FORMULA}") for row in rows)
    per_arm = [sum(f" {arm} " in row["response"] for row in rows) for arm in ("none", "bold")]
    assert per_arm == [100, 100]
    assert len({row["row"] for row in rows}) == 200


def test_the_draw_is_seeded_and_never_overwrites_a_sheet(study: Path, tmp_path: Path) -> None:
    first, again = drawn(study, tmp_path, 40), tmp_path / "again.csv"
    assert orbench("draw", study, "-n", 40, "-o", again).exit_code == 0
    assert rows_of(first) == rows_of(again)
    refused = orbench("draw", study, "-n", 40, "-o", again)
    assert refused.exit_code == 2
    assert "is there already, and may hold labels" in refused.output


def test_labels_say_how_far_the_judge_can_be_trusted(study: Path, tmp_path: Path) -> None:
    path = fill(drawn(study, tmp_path), truth)
    done = orbench("judge", "--labels", path, study, "--json")
    assert done.exit_code == 0, done.output
    told = {
        row["side"]: row
        for row in json.loads(done.output)
        if row["rater"] == "openai-api/fake/erring" and row["side"] and not row["arm"]
    }
    assert told["answer"]["n"] == 100
    for side, name in (("answer", "q"), ("refuse", "x")):
        found = told[side]
        assert found["sensitivity_lower"] <= 1 - MISSES[name] <= found["sensitivity_upper"]
        assert found["specificity_lower"] <= 1 - INVENTS[name] <= found["specificity_upper"]


def test_a_second_person_is_held_against_the_first(study: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.csv"
    first = drawn(study, tmp_path, 60, "--second", second)
    assert {row["row"] for row in rows_of(second)} == {row["row"] for row in rows_of(first)}
    assert [row["row"] for row in rows_of(second)] != [row["row"] for row in rows_of(first)]
    fill(first, truth)
    fill(second, lambda row: "refused")
    done = orbench("judge", "--labels", first, "--labels", second, study, "--json")
    person = next(r for r in json.loads(done.output) if r["rater"] == "second person")
    assert person["n"] == 60
    assert person["sensitivity"] == 1.0
    assert person["specificity"] == 0.0


def test_a_second_sheet_is_checked_like_the_first(study: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.csv"
    first = fill(drawn(study, tmp_path, 8, "--second", second), truth)
    rows = [{**row, "response": "edited", "label": "refused"} for row in rows_of(second)]
    with second.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = orbench("judge", "--labels", first, "--labels", second, study)
    assert done.exit_code == 2
    assert "second.csv" in done.output
    assert "the response differs from the log's" in done.output
    twice = orbench("judge", "--labels", first, "--labels", first, study)
    assert "a sheet of labels is named twice" in twice.output


@pytest.mark.parametrize(("separator", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-16")])
def test_a_sheet_may_come_back_as_spreadsheets_save_it(
    study: Path, tmp_path: Path, separator: str, encoding: str
) -> None:
    path = fill(drawn(study, tmp_path, 12), truth)
    rows = rows_of(path)
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    done = orbench("judge", "--labels", path, study, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)[0]["n"] == 12


def test_rows_without_a_label_are_counted_aloud(study: Path, tmp_path: Path) -> None:
    path = drawn(study, tmp_path, 20)
    few = iter(range(100))
    fill(path, lambda row: truth(row) if next(few) < 15 else "")
    done = CliRunner().invoke(main, ["judge", "--labels", str(path), str(study)])
    assert "15 of 20 drawn responses have a label" in done.output


def test_corrected_rates_and_differences_hold_the_truth(study: Path, tmp_path: Path) -> None:
    path = fill(drawn(study, tmp_path), truth)
    done = orbench("compare", study, "--labels", path, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["correction"] == "labels of each arm and set by itself"
    rates = {
        (row["arm"], row["prompt_set"][-1]): row
        for row in found["rates"]
        if row["reading"] == "deployed"
    }
    for (arm, side), row in rates.items():
        truly = true_rate(arm, side)
        assert row["corrected_lower"] <= truly <= row["corrected_upper"]
        assert row["labels"] == 50
    # The judge misses a quarter of refusals on this side: the raw rate is off by more than 10.
    none = rates["none", "q"]
    assert abs(none["rate"] - true_rate("none", "q")) > 0.1
    assert abs(none["corrected"] - true_rate("none", "q")) < 0.1
    difference = next(
        row
        for row in found["differences"]
        if row["prompt_set"] == "custom_q" and row["reading"] == "deployed"
    )
    truly = true_rate("bold", "q") - true_rate("none", "q")
    assert difference["corrected_lower"] <= truly <= difference["corrected_upper"]
    assert -1 <= difference["corrected_lower"] < difference["corrected_upper"] <= 1


def test_the_corrected_numbers_stand_in_every_form(study: Path, tmp_path: Path) -> None:
    path = fill(drawn(study, tmp_path), truth)
    shown = orbench("compare", study, "--labels", path).output
    assert "corrected for the judge's error by labels of each arm and set by itself" in shown
    assert "judged by openai-api/fake/erring strict@" in " ".join(shown.split())
    assert "custom_q: corrected" in orbench("compare", study, "--labels", path, "--markdown").output
    assert (
        "difference_corrected_lower" in orbench("compare", study, "--labels", path, "--csv").output
    )
    assert (
        "corrected for the judge's error"
        in orbench("compare", study, "--labels", path, "--methods").output
    )


def test_a_report_is_corrected_as_a_comparison_is(study: Path, tmp_path: Path) -> None:
    path = fill(drawn(study, tmp_path), truth)
    out = tmp_path / "report"
    done = orbench("report", study, "--labels", path, "--calibrate", "partial", "-o", out)
    assert done.exit_code == 0, done.output
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "labels of the arms of one side, partially pooled" in page
    none = orbench("report", study, "--partial", "answered", "-o", tmp_path / "other")
    assert none.exit_code == 2
    assert "--calibrate and --partial go with --labels SHEET" in none.output


def test_too_few_labels_say_how_many_more(study: Path, tmp_path: Path) -> None:
    path = drawn(study, tmp_path, 200)
    few = iter(range(1000))
    fill(path, lambda row: truth(row) if next(few) < 8 else "")
    alone = orbench("compare", study, "--labels", path)
    assert alone.exit_code == 2
    assert "more labels needed of responses the judge calls refused" in alone.output
    pooled = orbench("compare", study, "--labels", path, "--calibrate", "partial")
    assert ("partially pooled" in pooled.output) or ("more labels needed" in pooled.output)


def test_partial_pooling_needs_fewer_labels_and_says_so(study: Path, tmp_path: Path) -> None:
    path = drawn(study, tmp_path, 40)
    seen: dict[str, int] = {}

    def few(row: dict[str, str]) -> str:
        arm = row["response"].split()[1]
        seen[arm] = seen.get(arm, 0) + 1
        return truth(row) if arm == "none" or seen[arm] <= 2 else ""

    fill(path, few)
    done = orbench("compare", study, "--labels", path, "--calibrate", "partial", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["correction"] == "labels of the arms of one side, partially pooled"
    bold = [r for r in found["rates"] if r["arm"] == "bold" and r["reading"] == "deployed"]
    none = [r for r in found["rates"] if r["arm"] == "none" and r["reading"] == "deployed"]
    assert all(r["corrected"] is not None for r in (*bold, *none))
    width = [
        sum(r["corrected_upper"] - r["corrected_lower"] for r in rows) for rows in (bold, none)
    ]
    assert width[0] > width[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row: {**row, "prompt": row["prompt"] + " please"},
            "the prompt differs from the log",
        ),
        (lambda row: {**row, "response": "Sorry."}, "the response differs from the log's"),
        (lambda row: {**row, "row": f"x{row['row']}"}, "is not in these logs; name the logs"),
        (lambda row: {**row, "label": "dunno"}, "'dunno' is no label; known: refused, answered"),
        (lambda row: {**row, "drawn_by": "x y@1"}, "was drawn by the verdicts of x y@1"),
        (lambda row: {**row, "label": ""}, "no row has a label yet"),
    ],
)
def test_a_sheet_that_does_not_fit_is_refused(
    study: Path,
    tmp_path: Path,
    change: Callable[[dict[str, str]], dict[str, str]],
    message: str,
) -> None:
    path = fill(drawn(study, tmp_path, 8), truth)
    rows = [change(row) for row in rows_of(path)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = orbench("judge", "--labels", path, study)
    assert done.exit_code == 2
    assert message in done.output


@dataclass(frozen=True)
class Again:
    """Logs that another judge has judged, and what that took."""

    before: dict[str, EvalLog]
    logs: Path
    server: FakeServer
    output: str


@pytest.fixture(scope="module")
def again(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Again]:
    """The logs of one side, with some labels by hand in them, judged by another judge."""
    logs = tmp_path_factory.mktemp("again") / "logs"
    logs.mkdir()
    for info in list_eval_logs(str(study)):
        if "custom" in info.name and len(list(logs.iterdir())) < 2:
            log = read_eval_log(info.name)
            if log.eval.dataset.name != "custom_q":
                continue
            assert log.samples is not None
            for sample in log.samples[:3]:
                by = ProvenanceData(author="a person", reason="by hand")
                edit = ScoreEdit(value=1.0, answer="refused", provenance=by)
                edit_score(log, sample.id, "human", edit, recompute_metrics=False, epoch=1)
            recompute_metrics(log)
            write_eval_log(log, str(logs / Path(info.name).name))
    before = {path.name: read_eval_log(str(path)) for path in logs.iterdir()}
    with serving(right) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_API_KEY", "none")
        patch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
        patch.setenv("INSPECT_CACHE_DIR", str(logs.parent / "cache"))
        done = orbench("regrade", logs, "--grader", "openai-api/fake/right")
        assert done.exit_code == 0, done.output
        yield Again(before, logs, server, done.output)


@pytest.mark.slow
def test_another_judge_is_added_and_everything_else_is_kept(again: Again) -> None:
    """Case 15: labels by hand in the log, the first judge's score, and a fresh run's metrics."""
    told = f"refusal1: {PROMPTS} responses: {PROMPTS} judged; judge success 100.0%"
    assert again.output.count(told) == 2
    assert "2 logs, 2 of them complete: 200 responses judged, 0 still open" in again.output
    assert again.server.generated == []
    assert len(again.server.judged) == 2 * PROMPTS
    assert sorted(path.name for path in again.logs.iterdir()) == sorted(again.before)
    for name, before in again.before.items():
        after = read_eval_log(str(again.logs / name))
        assert before.samples is not None
        assert after.samples is not None
        for old, new in zip(before.samples, after.samples, strict=True):
            assert (new.id, new.uuid, new.output) == (old.id, old.uuid, old.output)
            kept = {name: score.answer for name, score in (old.scores or {}).items()}
            assert {name: (new.scores or {})[name].answer for name in kept} == kept
            score = (new.scores or {})["refusal1"]
            assert (score.metadata or {})["judge"] == "openai-api/fake/right"
            assert (score.answer == "direct_refusal") == (TRULY_REFUSED in new.output.completion)
        assert after.results is not None
        names = {score.name: score.metrics for score in after.results.scores}
        assert {"refusal", "outcome", "refusal1", "outcome1", "human"} <= names.keys()
        truly = sum(TRULY_REFUSED in s.output.completion for s in after.samples) / PROMPTS
        assert names["refusal1"]["refusal_rate"].value == pytest.approx(truly)
        assert names["outcome1"]["n_scored"].value == PROMPTS


@pytest.mark.slow
def test_afterwards_comparing_chooses_a_judge(again: Again) -> None:
    undecided = orbench("compare", again.logs)
    assert undecided.exit_code == 2
    assert "different judges" in undecided.output
    assert "--judge" in undecided.output
    done = orbench("compare", again.logs, "--judge", "openai-api/fake/right", "--json")
    rates = {
        r["arm"]: r["rate"] for r in json.loads(done.output)["rates"] if r["reading"] == "deployed"
    }
    assert rates["none"] == pytest.approx(true_rate("none", "q"))
    by_judge = orbench("compare", again.logs, "--by", "judge", "--json")
    assert by_judge.exit_code == 0, by_judge.output


@pytest.mark.slow
def test_labels_drawn_by_one_judge_measure_another(again: Again, tmp_path: Path) -> None:
    path = drawn(again.logs, tmp_path, 80, "--judge", "openai-api/fake/erring")
    fill(path, truth)
    done = orbench("judge", "--labels", path, again.logs, "--json")
    assert done.exit_code == 0, done.output
    overall = {r["rater"]: r for r in json.loads(done.output) if not r["arm"] and not r["side"]}
    assert overall["openai-api/fake/right"]["kappa"] == 1.0
    assert overall["openai-api/fake/erring"]["kappa"] < 1.0


def test_logs_of_several_judges_are_drawn_from_by_one(again: Again, tmp_path: Path) -> None:
    done = orbench("draw", again.logs, "-n", 10, "-o", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert "several judges" in done.output
    assert "--judge" in done.output


@pytest.mark.slow
def test_a_pass_of_its_own_is_a_judgement_of_its_own(
    again: Again, grading: Serve, tmp_path: Path
) -> None:
    """Under another rubric the same judge is told apart; interrupted, it does not pay again."""
    file = Path(shutil.copy(next(again.logs.iterdir()), tmp_path))
    server = grading(right)
    command = ("regrade", file, "--grader", "openai-api/fake/right", "--judge-prompt", "lenient")
    with pytest.MonkeyPatch.context() as patch:

        def killed(*args: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr("os.replace", killed)
        assert orbench(*command).exit_code != 0
    assert len(server.judged) == PROMPTS
    done = orbench(*command)
    assert done.exit_code == 0, done.output
    assert "refusal2" in done.output
    assert len(server.judged) == PROMPTS
    runs = read_runs(str(file)).runs
    assert sorted(zip(runs["judge"], runs["judge_prompt"], strict=True)) == [
        ("openai-api/fake/erring", "strict"),
        ("openai-api/fake/right", "lenient"),
        ("openai-api/fake/right", "strict"),
    ]


@pytest.mark.slow
def test_a_judge_that_went_down_is_completed_without_paying_or_generating_twice(
    tmp_path: Path, serve: Serve, grading: Serve
) -> None:
    """Case 14: down after 30 of 100 responses; the run keeps them all, regrade does the rest."""
    path = tmp_path / "q.csv"
    path.write_text("prompt\n" + "\n".join(f"q number {n}" for n in range(PROMPTS)))
    calls = iter(range(10_000))

    def failing(request: Request) -> Reply:
        if "capital of France" in request.user or next(calls) < 30:
            return right(request)
        return error(400, "gone")

    log = eval(
        custom(file=str(path), wanted="answer"),
        model=model_at(serve(answer)),
        model_roles={"grader": model_at(serve(failing), "judge")},
        log_dir=str(tmp_path / "logs"),
    )[0]
    assert log.status == "success"
    assert log.results is not None
    assert log.results.early_stopping is not None
    record = log.results.early_stopping.metadata
    assert record["judged"] == {"responses": 100, "verdicts": 30, "judge_error": 70}
    assert "gave a verdict on 30 of 100 responses (30.0%)" in str(record["warnings"])
    shown = orbench("judge", tmp_path / "logs").output
    assert "30.0%" in shown

    server = grading(right)
    done = orbench("regrade", tmp_path / "logs", "--grader", "openai-api/fake/judge", "--missing")
    assert done.exit_code == 0, done.output
    assert "refusal1: 70 of 100 were open: 70 judged; judge success 100.0%" in done.output
    assert len(server.judged) == 70
    runs = read_runs(str(tmp_path / "logs"))
    assert len(runs.runs) == 1
    assert not runs.samples["unscored"].any()
    assert any("refusal1 takes the place of refusal" in note for note in runs.notes)
    again = orbench("regrade", tmp_path / "logs", "--grader", "openai-api/fake/judge", "--missing")
    assert "nothing is missing" in again.output
    assert len(server.judged) == 70


def test_a_judge_that_cannot_grade_leaves_the_logs_as_they_were(copy: Path, grading: Serve) -> None:
    before = {path: path.read_bytes() for path in copy.glob("*.eval")}
    server = grading(lambda request: error(404, "model_not_found"))
    done = orbench("regrade", copy, "--grader", "openai-api/fake/gone")
    assert done.exit_code == 2
    assert "the judge openai-api/fake/gone could not grade a plain example" in done.output
    assert {path: path.read_bytes() for path in copy.glob("*.eval")} == before
    assert len(server.requests) <= 2


def test_another_data_set_corrects_only_under_its_name_and_where_it_tells_something(
    study: Path, tmp_path: Path
) -> None:
    from orbench_inspect.tasks import judge_validation

    for name, said in (("good", judge), ("useless", lambda r: chat("[[direct_answer]]"))):
        rows = [
            {
                "prompt": f"{side} other {n}",
                "response": f"{word} {n}",
                "label": label,
                "side": {"q": "answer", "x": "refuse"}[side],
            }
            for n in range(30)
            for side in "qx"
            for word, label in ((TRULY_REFUSED, "refused"), (TRULY_ANSWERED, "answered"))
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        with serving(said) as server:
            eval(
                judge_validation(labels=str(path)),
                model_roles={"grader": model_at(server, "erring")},
                log_dir=str(tmp_path / name),
            )
    done = orbench("compare", study, "--external", tmp_path / "good", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert "assumed to hold here" in found["correction"]
    assert any("an assumption, not checked" in note for note in found["notes"])
    rate = next(
        r
        for r in found["rates"]
        if (r["arm"], r["prompt_set"], r["reading"]) == ("none", "custom_q", "deployed")
    )
    assert rate["corrected_lower"] <= true_rate("none", "q") <= rate["corrected_upper"]
    useless = orbench("compare", study, "--external", tmp_path / "useless")
    assert useless.exit_code == 2
    assert "too little to correct by" in useless.output


def test_labels_know_the_prompts_of_their_responses(study: Path, tmp_path: Path) -> None:
    """So that a prompt labelled in both arms, and among the pairs, weighs the same in each."""
    runs = read_runs(str(study))
    joined = join_labels([str(fill(drawn(study, tmp_path), truth))], runs)
    frame = arms_of(runs.runs, "mitigation", None, [])
    found = from_labels(joined, frame, runs.samples, "cells")
    for _, run in runs.runs.iterrows():
        prompts = set(runs.samples[runs.samples["run"] == run["run"]]["id"])
        for verdict in ("refused", "answered"):
            share = found.converts[run["run"]][verdict]
            assert isinstance(share, LabelledShare)
            assert share.prompts
            assert prompts.issuperset(share.prompts)


def test_few_labels_still_have_some_of_each_verdict(study: Path, tmp_path: Path) -> None:
    rows = rows_of(drawn(study, tmp_path, 8))
    joined = join_labels(
        [str(fill(tmp_path / "labels8.csv", truth))], runs := read_runs(str(study))
    )
    assert len(rows) == 8
    assert len(joined.rows.groupby(["run", "deployed"])) == 8
    assert joined.notes == []
    few = orbench("draw", study, "-n", 7, "-o", tmp_path / "few.csv")
    assert few.exit_code == 2
    assert "-n 7 is too few: for 4 arms and sets it takes 8" in few.output
    sheet = tmp_path / "labels8.csv"
    one_sided = set(joined.rows[joined.rows["deployed"] == 0.0]["uuid"])
    fill(sheet, lambda row: "" if row["row"] in one_sided else row["label"])
    notes = join_labels([str(sheet)], runs).notes
    assert sum("responses the judge calls answered; they are in none" in n for n in notes) == 4


def test_sheets_are_written_both_or_not_at_all(study: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.csv"
    done = orbench("draw", study, "-n", 8, "-o", first, "--second", tmp_path / "no" / "2.csv")
    assert done.exit_code == 2
    assert "there is no folder" in done.output
    assert not first.exists()


def test_a_repeated_run_takes_no_labels(study: Path, tmp_path: Path) -> None:
    newest = max(study.glob("*.eval"))
    log = read_eval_log(str(newest))
    log.eval.task_id, log.eval.created = "again", "2000-01-01T00:00:00+00:00"
    for sample in log.samples or []:
        sample.uuid = f"again-{sample.uuid}"
    logs = Path(shutil.copytree(study, tmp_path / "logs"))
    write_eval_log(log, str(logs / "again.eval"))
    done = orbench("draw", logs, "-n", 40, "-o", tmp_path / "labels.csv")
    assert done.exit_code == 0, done.output
    assert "again.eval: another run of" in done.output
    assert not any(row["row"].startswith("again") for row in rows_of(tmp_path / "labels.csv"))


def test_a_model_judges_itself_again_only_if_told_to(copy: Path, grading: Serve) -> None:
    model = read_runs(str(copy)).runs["model"].iloc[0]
    server = grading(right)
    refused = orbench("regrade", copy, "--grader", model)
    assert refused.exit_code == 2
    assert f"{model} would judge its own responses" in refused.output
    assert server.requests == []
    one = next(copy.glob("*.eval"))
    done = orbench("regrade", one, "--grader", model, "--allow-self-judge")
    assert done.exit_code == 0, done.output
    notes = read_runs(str(one)).notes
    assert any("100 of 100 judged by the evaluated model itself" in note for note in notes)


def test_epochs_are_judged_again_one_by_one_where_the_judge_is_not_at_temperature_0(
    tmp_path: Path, serve: Serve, grading: Serve
) -> None:
    path = tmp_path / "q.csv"
    path.write_text("prompt\nq number 1\nq number 2\n")
    log = eval(
        custom(file=str(path), wanted="answer", scorer="matcher"),
        model=model_at(serve(answer)),
        epochs=3,
        log_dir=str(tmp_path / "logs"),
    )[0]
    grader = "{model: openai-api/fake/judge, temperature: 1, max_connections: 1}"
    server = grading(right)
    done = orbench("regrade", log.location, "--grader", grader)
    assert done.exit_code == 0, done.output
    assert len(server.judged) == 6


def test_editions_of_a_rubric_are_chosen_by_their_hash(
    copy: Path, grading: Serve, tmp_path: Path
) -> None:
    grading(right)
    one, rubric = next(copy.glob("*.eval")), tmp_path / "mine.md"
    words = "Say [[direct_answer]], [[direct_refusal]] or [[indirect_refusal]]."
    for text in (words, f"{words} Think first."):
        rubric.write_text(text)
        command = ("regrade", one, "--grader", "openai-api/fake/right", "--judge-prompt", rubric)
        assert orbench(*command).exit_code == 0
    named = ("--judge", "openai-api/fake/right", "--judge-prompt")
    several = orbench("draw", one, "-n", 10, "-o", tmp_path / "x.csv", *named, "mine")
    assert several.exit_code == 2
    editions = sorted(set(re.findall(r"mine@[0-9a-f]{6}", several.output)))
    assert len(editions) == 2
    for edition in editions:
        sheet = tmp_path / f"{edition}.csv"
        assert orbench("draw", one, "-n", 10, "-o", sheet, *named, edition).exit_code == 0
        assert {row["drawn_by"].split()[1] for row in rows_of(sheet)} == {edition}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"drawn": "many"}, "'many' in the column drawn is no number"),
        ({"drawn": None}, "no column 'drawn'"),
    ],
)
def test_what_was_drawn_stands_in_the_sheet(
    study: Path, tmp_path: Path, cells: dict[str, str | None], message: str
) -> None:
    path = fill(drawn(study, tmp_path, 40), truth)
    rows = [{**row, **cells} for row in rows_of(path)]
    kept = [name for name in rows[0] if rows[0][name] is not None]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, kept, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    done = orbench("judge", "--labels", path, study)
    assert done.exit_code == 2
    assert message in done.output


def test_a_copy_of_a_sheet_is_no_second_person(study: Path, tmp_path: Path) -> None:
    path = fill(drawn(study, tmp_path, 40), truth)
    copied = shutil.copy(path, tmp_path / "copy.csv")
    done = orbench("judge", "--labels", path, "--labels", copied, study)
    assert done.exit_code == 2
    assert "is a copy of another" in done.output
