"""The ways into Inspect other than `inspect eval orbench_inspect/…`."""

import json
import os
from pathlib import Path

import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from tests.conftest import Serve, Write
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.runs import metrics, model_at
from tests.test_tasks import ROOT, inspect


def refusing(request: Request) -> Reply:
    return chat("I'm sorry, but I can't help with that.")


def logs_in(folder: Path) -> list[EvalLog]:
    return [read_eval_log(info) for info in list_eval_logs(str(folder))]


@pytest.mark.slow
def test_an_eval_set_by_name_asks_nothing_twice(
    serve: Serve, or_bench: Path, tmp_path: Path
) -> None:
    server = serve(refusing)
    for _ in range(2):
        said = inspect(
            *("eval-set", "orbench_inspect/hard", "orbench_inspect/toxic"),
            *("-T", "scorer=matcher", "--limit", "3", "--log-dir", str(tmp_path / "set")),
            *("--model", "openai-api/fake/m", "--model-base-url", f"{server.url}/v1"),
            cwd=tmp_path,
            FAKE_API_KEY="none",
            ORBENCH_DATA_DIR=str(or_bench),
        )
        assert "Traceback" not in said, said
    assert len(server.requests) == 6
    logs = logs_in(tmp_path / "set")
    assert {log.eval.task for log in logs} == {"orbench_inspect/hard", "orbench_inspect/toxic"}
    assert all(metrics(log)["refusal_rate"] == 1 for log in logs)


@pytest.mark.slow
def test_a_task_is_run_from_its_file_and_scored_again_by_name(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(refusing)
    inspect(
        *("eval", "orbench_inspect/tasks.py@custom", "-T", f"file={prompts_file('one', 'two')}"),
        *("-T", "wanted=answer", "-T", "scorer=matcher"),
        *("--model", "openai-api/fake/m", "--model-base-url", f"{server.url}/v1"),
        cwd=ROOT,
        FAKE_API_KEY="none",
    )
    [log] = logs_in(tmp_path / "logs")
    assert log.status == "success"
    said = inspect(
        *("score", log.location, "--scorer", "orbench_inspect/matcher"),
        *("--action", "append", "--overwrite"),
        cwd=tmp_path,
        FAKE_API_KEY="none",
    )
    assert "matcher1" in said, said
    [again] = logs_in(tmp_path / "logs")
    assert metrics(again, "matcher1") == metrics(log, "matcher")
    assert len(server.requests) == 2


def test_a_task_is_run_from_python_by_name(
    serve: Serve, or_bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"source": str(or_bench), "scorer": "matcher", "first": 2}
    [log] = eval("orbench_inspect/toxic", task_args=options, model=model_at(serve(refusing)))
    assert metrics(log)["refusal_rate"] == 1
    assert log.eval.dataset.samples == 2


def test_editors_and_listings_find_the_tasks_without_running_them() -> None:
    listed = json.loads(inspect("list", "tasks", "--json", cwd=ROOT, INSPECT_LOG_LEVEL="error"))
    found = {f"{Path(task['file']).as_posix()}@{task['name']}" for task in listed}
    stages = {task for task in found if task.startswith("orbench_inspect/construction/")}
    assert len(stages) == 5
    assert found - stages == {
        *(f"orbench_inspect/tasks.py@{name}" for name in ("hard", "toxic", "full", "custom")),
        "orbench_inspect/tasks.py@judge_validation",
        "evals/quickstart.py@safe",
        "evals/quickstart.py@harmful",
    }
    assert all(os.path.exists(ROOT / task["file"]) for task in listed)
