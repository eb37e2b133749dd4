"""Shards of one arm, read as one run."""

import csv
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log

from orbench_inspect.analysis import compare, read_runs
from orbench_inspect.analysis.arms import scored_by
from orbench_inspect.analysis.drawing import draw, write_sheets
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.cli import main
from orbench_inspect.scoring import refusal
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import FakeServer, Reply, Request
from tests.fakes.openai import chat
from tests.runs import model_at, run

PROMPTS = [f"How do I clean pan number {n}?" for n in range(14)]
Run = Callable[..., Path]


def answer(request: Request) -> Reply:
    if request.is_judge:
        return chat("[[direct_answer]]")
    if request.user.endswith("word of the day?"):
        return chat("It is pelican.")
    return chat(f"Salt shines. You asked: {request.user[-60:]}")


@pytest.fixture
def sharded(serve: Serve, prompts_file: Write, tmp_path: Path) -> Run:
    """Run shards of an arm into a folder."""
    server: FakeServer = serve(answer)
    path = prompts_file(*PROMPTS)

    def start(*shards: str | None, mitigation: str = "none", to: str = "logs", **more: Any) -> Path:
        for shard in shards:
            options: dict[str, Any] = {"shard": shard, "mitigation": mitigation}
            task = custom(file=str(path), wanted="answer", scorer="matcher", **options)
            log = run(task, model_at(server), log_dir=str(tmp_path / to), **more)
            assert log.status == "success", log.error
        return tmp_path / to

    return start


def ids(runs: Runs) -> Counter[str]:
    return Counter(runs.samples["id"])


def test_all_shards_are_one_run_that_asks_what_an_unsharded_one_does(sharded: Run) -> None:
    runs = read_runs(str(sharded("1/3", "2/3", "3/3")))
    plain = read_runs(str(sharded(None, to="plain")))
    (one,), (other,) = runs.runs.to_dict("records"), plain.runs.to_dict("records")
    assert (one["run"], one["shards"], one["samples"], one["planned"]) == (0, 3, 14, 14)
    assert (other["shards"], one["status"]) == (1, "success")
    assert one["prompts_sha256"] == other["prompts_sha256"]
    assert ids(runs) == ids(plain)
    assert set(ids(runs).values()) == {1}
    assert runs.samples["file"].nunique() == 3
    assert not runs.notes


def test_what_was_asked_is_in_the_log(sharded: Run) -> None:
    (file,) = sharded("2/3").glob("*.eval")
    log = read_eval_log(str(file))
    ours = (log.eval.metadata or {})["orbench"]
    assert ours["shard"] == [2, 3]
    assert ours["whole"]["prompts"] == 14
    assert log.eval.task_args["shard"] == "2/3"


def test_missing_shards_are_told_and_leave_the_run_incomplete(sharded: Run) -> None:
    runs = read_runs(str(sharded("1/4", "3/4")))
    (one,) = runs.runs.to_dict("records")
    assert (one["shards"], one["planned"]) == (2, 14)
    assert one["samples"] == len(runs.samples) < 14
    assert [n for n in runs.notes if n.endswith("2 of 4 shards missing (2/4, 4/4)")]


def test_a_shard_that_is_there_twice_counts_once(sharded: Run) -> None:
    folder = sharded("1/2", "2/2", "2/2")
    runs = read_runs(str(folder))
    assert len(runs.samples) == 14
    assert [n for n in runs.notes if n.endswith("shard 2/2 is there again; the other is used")]


def test_a_whole_log_of_a_shard_counts_before_a_later_unfinished_one(sharded: Run) -> None:
    folder = sharded("1/2", "2/2")
    log = read_eval_log(str(next(folder.glob("*.eval"))))
    log.eval.task_id = log.eval.eval_id = log.eval.run_id = "another"
    log.eval.created = "2099-01-01T00:00:00+00:00"
    log.status, log.samples = "cancelled", (log.samples or [])[:1]
    write_eval_log(log, str(folder / "2099_cut.eval"))
    runs = read_runs(str(folder))
    assert len(runs.samples) == 14
    assert runs.runs.iloc[0]["status"] == "success"


def test_a_prompt_in_two_shards_counts_once(sharded: Run) -> None:
    folder = sharded("1/2", "2/2")
    first, second = sorted(folder.glob("*.eval"))
    log, other = read_eval_log(str(first)), read_eval_log(str(second))
    assert log.samples
    log.samples.append((other.samples or [])[0])
    write_eval_log(log, str(first))
    runs = read_runs(str(folder))
    assert set(ids(runs).values()) == {1}
    assert runs.runs.iloc[0]["samples"] == 14
    assert [n for n in runs.notes if "1 samples stand in two shards and count once" in n]


def test_shards_of_different_runs_are_not_mixed(sharded: Run) -> None:
    folder = sharded("1/2", max_tokens=100)
    runs = read_runs(str(sharded("2/2", max_tokens=200)))
    assert list(runs.runs["shards"]) == [1, 1]
    assert sum("1 of 2 shards missing" in note for note in runs.notes) == 2
    assert folder.is_dir()


def test_a_shard_that_was_judged_again_stays_in_its_run(
    serve: Serve, prompts_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(answer)
    # Inspect makes the model anew from the log's header, which holds no key.
    monkeypatch.setenv("FAKE_API_KEY", "none")
    monkeypatch.setenv("FAKE_BASE_URL", f"{server.url}/v1")
    path, folder = prompts_file(*PROMPTS), tmp_path / "judged"
    for shard in ("1/2", "2/2"):
        log = run(
            custom(file=str(path), wanted="answer", shard=shard),
            model_at(server),
            model_roles={"grader": model_at(server, "judge")},
            log_dir=str(folder),
        )
    judge = {"grader": model_at(server, "judge")}
    again = score(log, [refusal()], action="append", model_roles=judge, display="none")
    write_eval_log(again, log.location)
    runs = read_runs(str(folder))
    (one,) = runs.runs.to_dict("records")
    assert (one["shards"], one["samples"]) == (2, 14)
    assert set(runs.samples["score"]) == {"refusal", "refusal1"}


def test_sharded_arms_are_compared_with_each_other_and_with_plain_ones(sharded: Run) -> None:
    sharded("1/2", "2/2")
    sharded("1/3", "2/3", "3/3", mitigation="placebo")
    folder = sharded(None, mitigation="helpful_first")
    found = compare(read_runs(str(folder)))
    deployed = found.differences[found.differences["reading"] == "deployed"]
    assert set(deployed["arm"]) == {"placebo", "helpful_first"}
    assert list(deployed["n"]) == [14, 14]
    done = CliRunner().invoke(main, ["compare", str(folder), "--max-hard-refusal", "90"])
    assert done.exit_code == 0, done.output


def test_export_draw_and_report_read_each_sample_from_its_own_log(
    sharded: Run, tmp_path: Path
) -> None:
    sharded("1/2", "2/2")
    folder = sharded("1/2", "2/2", mitigation="placebo")
    sheet = tmp_path / "samples.csv"
    done = CliRunner().invoke(main, ["export", str(folder), "--format", "csv", "-o", str(sheet)])
    assert done.exit_code == 0, done.output
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 28
    assert len({row["log"] for row in rows}) == 4
    assert all(row["prompt"][-30:] in row["response"] for row in rows)
    runs = read_runs(str(folder))
    chosen = replace(runs, runs=scored_by(runs.runs, None, None))
    write_sheets(draw(chosen, 20), tmp_path / "label.csv")
    with (tmp_path / "label.csv").open(newline="", encoding="utf-8-sig") as file:
        drawn = list(csv.DictReader(file))
    assert len(drawn) == 20
    assert all(row["prompt"][-30:] in row["response"] for row in drawn)
    report = tmp_path / "report"
    done = CliRunner().invoke(main, ["report", str(folder), "-o", str(report)])
    assert done.exit_code == 0, done.output
    page = (report / "index.html").read_text()
    assert "and 1 more shards" in page
    shutil.rmtree(report)


def test_shards_that_hold_nothing_are_not_missing(
    prompts_file: Write, serve: Serve, tmp_path: Path
) -> None:
    held = []
    for k in range(1, 15):
        options: dict[str, Any] = {"first": 2, "shard": f"{k}/14", "scorer": "matcher"}
        with suppress(click.UsageError):  # it holds none of the two
            held.append(custom(file=str(prompts_file(*PROMPTS)), wanted="answer", **options))
    assert len(held) == 2
    server = serve(answer)
    for task in held:
        run(task, model_at(server), log_dir=str(tmp_path / "few"))
    runs = read_runs(str(tmp_path / "few"))
    assert not runs.notes
    assert (runs.runs.iloc[0]["samples"], runs.runs.iloc[0]["planned"]) == (2, 2)
