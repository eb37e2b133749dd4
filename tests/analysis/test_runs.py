"""Reading logs: what counts, and what is told of the rest."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, write_eval_log

from orbench_inspect.analysis import compare, read_runs
from orbench_inspect.cli import main
from orbench_inspect.scoring import refusal
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.runs import model_at, run


def answer(request: Request) -> Reply:
    if request.is_judge:
        strict = request.body["model"] == "strict"
        return chat(
            "[[indirect_refusal]]" if strict and "maybe" in request.user else "[[direct_answer]]"
        )
    if request.user.endswith("word of the day?"):
        return chat("It is pelican.")
    match request.user:
        case "broken":
            return error(400, "bad", "malformed")
        case "blocked":
            return chat("", finish="content_filter")
        case _:
            return chat("Yes, maybe like this.")


def judged(
    server: FakeServer, path: Path, folder: Path, mitigation: str = "none", wanted: str = "answer"
) -> EvalLog:
    return run(
        custom(file=str(path), wanted=wanted, mitigation=mitigation),
        model_at(server),
        model_roles={"grader": model_at(server, "lenient")},
        log_dir=str(folder),
    )


def test_runs_and_samples_are_read_from_a_directory(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(answer)
    judged(server, prompts_file("one", "broken", "blocked"), tmp_path / "logs")
    runs = read_runs(str(tmp_path / "logs"))
    (one,) = runs.runs.to_dict("records")
    assert one["model"] == "openai-api/fake/evaluated"
    assert (one["mitigation"], one["replicate"], one["wanted"]) == ("none", 1, "answer")
    assert (one["judge"], one["judges"]) == ("openai-api/fake/lenient", 1)
    assert (one["samples"], one["planned"], one["temperature"]) == (3, 3, 0.0)
    found = {row["outcome"]: row for row in runs.samples.to_dict("records")}
    assert found.keys() == {"direct_answer", "model_error", "provider_refusal"}
    assert found["direct_answer"]["deployed"] == 0.0
    assert found["direct_answer"]["characters"] == len("Yes, maybe like this.")
    assert found["direct_answer"]["matcher"] == "answered"
    assert found["direct_answer"]["tokens"] > 10
    assert found["provider_refusal"]["deployed"] == 1.0
    assert found["provider_refusal"]["model_only"] != found["provider_refusal"]["model_only"]
    assert found["model_error"]["unscored"]
    assert any("status error" in note for note in runs.notes)


def test_a_superseded_attempt_counts_once(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(answer)
    log = judged(server, prompts_file("one", "two"), tmp_path / "logs")
    old = log.model_copy(deep=True)
    old.status = "started"
    old.eval.created = "2020-01-01T00:00:00+00:00"
    old.samples = (old.samples or [])[:1]
    write_eval_log(old, str(tmp_path / "logs/2020_old.eval"))
    runs = read_runs(str(tmp_path / "logs"))
    assert len(runs.samples) == 2
    assert "1 logs superseded by a later attempt at their task" in runs.notes


def test_foreign_and_broken_logs_are_told_and_left_out(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(answer)
    folder = tmp_path / "logs"
    judged(server, prompts_file("one"), folder)
    eval(Task([Sample("hi")]), model=model_at(server), log_dir=str(folder))
    (folder / "2026-01-01T00-00-00_broken.eval").write_bytes(b"no log")
    runs = read_runs(str(folder))
    assert len(runs.runs) == 1
    assert "1 logs of other tasks left out" in runs.notes
    assert any("broken.eval: cannot be read" in note for note in runs.notes)


def test_a_directory_without_runs_is_an_error_that_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run of orbench_inspect in"):
        read_runs(str(tmp_path))
    done = CliRunner().invoke(main, ["compare", str(tmp_path)])
    assert done.exit_code == 2
    assert "no run of orbench_inspect in" in done.output


def test_runs_that_never_began_say_why(serve: Serve, prompts_file: Write, tmp_path: Path) -> None:
    def down(request: Request) -> Reply:
        return error(401, "down", "no key") if request.is_judge else answer(request)

    judged(serve(down), prompts_file("one"), tmp_path / "logs")
    for command in ("compare", "export", "report"):
        done = CliRunner().invoke(main, [command, str(tmp_path / "logs")])
        assert done.exit_code == 2
        assert "was stopped before its first one" in " ".join(done.output.split())
        assert "status error" in done.output


def test_an_unfinished_log_is_read_and_its_gap_told(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(answer)
    log = judged(server, prompts_file("one", "two", "three"), tmp_path / "logs")
    log.status = "cancelled"
    log.samples = (log.samples or [])[:2]
    write_eval_log(log, str(tmp_path / "cut/cut.eval"))
    runs = read_runs(str(tmp_path / "cut"))
    assert len(runs.samples) == 2
    assert any("2 of 3 samples" in note for note in runs.notes)


def test_judges_of_one_log_are_compared_side_by_side(
    serve: Serve, prompts_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(answer)
    monkeypatch.setenv("FAKE_API_KEY", "none")
    monkeypatch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
    log = judged(server, prompts_file("one", "two"), tmp_path / "first")
    again = score(
        log,
        [refusal()],
        action="append",
        model_roles={"grader": model_at(server, "strict")},
        display="none",
    )
    write_eval_log(again, str(tmp_path / "second/both.eval"))
    runs = read_runs(str(tmp_path / "second"))
    assert list(runs.runs["score"]) == ["refusal", "refusal1"]
    found = compare(runs, by="judge", baseline="openai-api/fake/lenient")
    deployed = found.differences[found.differences["reading"] == "deployed"]
    assert list(deployed["difference"]) == [1.0]
    with pytest.raises(ValueError, match=r"different judges|nothing to compare by mitigation"):
        compare(runs)


def test_a_hostile_name_steers_neither_terminal_nor_spreadsheet(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(answer)
    own = tmp_path / "own.md"
    own.write_text('---\nid: "=HYPERLINK(1)\\e[31m[bold]x"\n---\nBe kind.')
    for mitigation in ("none", str(own)):
        judged(server, prompts_file("one", "two"), tmp_path / "logs", mitigation)
    logs = str(tmp_path / "logs")
    shown = CliRunner().invoke(main, ["compare", logs])
    assert shown.exit_code == 0, shown.output
    assert "\x1b[31m" not in shown.output
    assert "[bold]x" in shown.output
    sheet = CliRunner().invoke(main, ["compare", logs, "--csv"]).output
    assert "'=HYPERLINK(1)" in sheet
    assert ",=HYPERLINK" not in sheet
