"""Exported rows: one a sample, complete, documented, and harmless in a spreadsheet."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from inspect_ai import eval
from inspect_ai.log import read_eval_log, write_eval_log

from orbench_inspect.analysis import read_runs
from orbench_inspect.analysis.export import COLUMNS, TEXT_COLUMNS
from orbench_inspect.cli import main
from orbench_inspect.tasks import custom
from tests.fakes import Reply, Request, error
from tests.fakes.openai import chat
from tests.fakes.server import serving
from tests.runs import model_at

LONG = "line\n" * 20_000
SAID = {"=cmd": '=HYPERLINK("http://x")\nand more', "two": "I'm sorry, but I can't.", "long": LONG}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run, scored by rules, with a filter's block and a failed call in it."""
    folder = tmp_path_factory.mktemp("export")

    def answer(request: Request) -> Reply:
        match request.user:
            case "blocked":
                return chat("", finish="content_filter")
            case "broken":
                return error(400, "bad", "malformed")
            case asked:
                return chat(SAID[asked])

    prompts = folder / "mine.csv"
    prompts.write_text("\n".join(["prompt", *SAID, "blocked", "broken"]))
    with serving(answer) as server:
        eval(
            custom(file=str(prompts), wanted="answer", scorer="matcher"),
            model=model_at(server),
            log_dir=str(folder / "logs"),
            epochs=2,
            fail_on_error=0.9,
            display="none",
        )
    return folder / "logs"


def exported(logs: Path, form: str, *options: str) -> Path:
    path = logs.parent / f"out.{form}"
    done = CliRunner().invoke(
        main, ["export", str(logs), "--format", form, "-o", str(path), *options]
    )
    assert done.exit_code == 0, done.output
    assert "10 rows of 1 run\n" in done.output
    return path


def test_every_sample_is_a_row_with_its_texts(logs: Path) -> None:
    rows = [json.loads(line) for line in exported(logs, "jsonl").read_text().splitlines()]
    assert len(rows) == 10
    assert {row["judge_prompt"] for row in rows} == {None}
    assert all(list(row) == [c for c in COLUMNS if c in row] for row in rows)
    by_prompt = {row["prompt"]: row for row in rows if row["epoch"] == 2}
    assert by_prompt["long"]["response"] == LONG
    assert (by_prompt["two"]["outcome"], by_prompt["two"]["deployed"]) == ("direct_refusal", 1.0)
    blocked = by_prompt["blocked"]
    assert (blocked["outcome"], blocked["deployed"], blocked["model_only"]) == (
        "provider_refusal",
        1.0,
        None,
    )
    broken = by_prompt["broken"]
    assert (broken["outcome"], broken["deployed"], broken["unscored"]) == (
        "model_error",
        None,
        True,
    )


def test_no_cell_of_a_spreadsheet_is_a_formula(logs: Path) -> None:
    with exported(logs, "csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    cells = [cell for row in rows for cell in row.values() if cell]
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r\n"]
    assert {row["prompt"] for row in rows} == {"'=cmd", "two", "long", "blocked", "broken"}
    assert sum(row["response"] == f"'{SAID['=cmd']}" for row in rows) == 2


def test_forms_hold_the_same_rows(logs: Path) -> None:
    lines = [json.loads(line) for line in exported(logs, "jsonl").read_text().splitlines()]
    table = pd.read_parquet(exported(logs, "parquet"))
    assert list(table["id"]) == [row["id"] for row in lines]
    assert list(table["response"]) == [row["response"] for row in lines]
    assert table["deployed"].isna().sum() == sum(row["unscored"] for row in lines) > 0


def test_what_models_wrote_can_be_left_out(logs: Path) -> None:
    text = exported(logs, "jsonl", "--no-responses").read_text()
    assert "HYPERLINK" not in text
    assert not set(TEXT_COLUMNS) & json.loads(text.splitlines()[0]).keys()


def test_a_log_in_json_gives_the_same_rows(logs: Path, tmp_path: Path) -> None:
    (file,) = logs.glob("*.eval")
    copy = tmp_path / "logs" / file.with_suffix(".json").name
    write_eval_log(read_eval_log(str(file)), str(copy))
    before = exported(logs, "jsonl").read_text().replace(file.name, copy.name)
    after = exported(copy.parent, "jsonl").read_text()
    assert sorted(after.splitlines()) == sorted(before.splitlines())


def test_every_column_is_documented(logs: Path) -> None:
    done = CliRunner().invoke(main, ["export", "--columns"])
    assert [line.split()[0] for line in done.output.splitlines()] == list(COLUMNS)
    runs = read_runs(str(logs))
    left = set(COLUMNS) - {*runs.runs, *runs.samples, "log", "prompt", *TEXT_COLUMNS}
    assert left <= {"judge_prompt"}


def test_parquet_needs_a_file(logs: Path) -> None:
    done = CliRunner().invoke(main, ["export", str(logs), "--format", "parquet"])
    assert done.exit_code == 2
    assert "-o FILE.parquet" in done.output
