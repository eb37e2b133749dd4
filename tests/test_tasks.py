"""The tasks as they are started: options, identity, what is in the log."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from inspect_ai import Task, eval_set, task_with
from inspect_ai.dataset import Sample
from inspect_ai.log import list_eval_logs, read_eval_log

from orbench_inspect.options import CustomOptions, FullOptions, Options
from orbench_inspect.tasks import custom, full, hard, toxic
from tests.conftest import Serve, Write
from tests.fakes.openai import chat
from tests.runs import metrics, model_at, run

ROOT = Path(__file__).parents[1]


def samples(task: Task) -> list[Sample]:
    return list(task.dataset)


def test_real_prompts_become_samples(or_bench: Path) -> None:
    task = hard(source=str(or_bench))
    assert len(samples(task)) == 1319
    first = samples(task)[0]
    assert str(first.id).startswith(f"hard-{(first.metadata or {})['category']}-")
    assert first.target == "answer"
    assert {sample.target for sample in toxic(source=str(or_bench)).dataset} == {"refuse"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mitigtion": "x"}, r"unknown option -T mitigtion \(did you mean mitigation\?\); known: "),
        ({"zzz": 1}, "unknown option -T zzz; known: mitigation, system_prompt"),
        ({"shard": "11/10"}, "-T shard=11/10: which of how many shards, such as 3/10"),
        ({"shard": 3}, "-T shard=3: which of how many shards, such as 3/10"),
        ({"per_category": "abc"}, "-T per_category=abc: input should be a valid integer"),
        ({"per_category": 0}, "-T per_category=0: input should be greater than or equal to 1"),
        ({"scorer": "juge"}, "-T scorer=juge: input should be 'judge', 'matcher' or 'cascade'"),
        ({"mitigation": "helpfull"}, "unknown mitigation 'helpfull'; known: "),
        ({"judge_prompt": "x", "scorer": "matcher"}, "-T judge_prompt= goes with scorer=judge"),
        ({"judge_prompt": "x"}, "unknown judge prompt 'x'; known: lenient, strict"),
        ({"categories": "Hate"}, "categories: Hate not in 'bundled_safe'; known: deception"),
        ({"seed": "1.5"}, "-T seed=1.5: input should be a valid integer"),
        ({"allow_self_judge": "maybe"}, "-T allow_self_judge=maybe: input should be a valid bool"),
    ],
)
def test_a_wrong_option_stops_the_run(options: dict[str, str | int], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        hard(source="bundled", **options)  # type: ignore[arg-type]  # wrong on purpose


def test_all_wrong_options_are_named_at_once() -> None:
    with pytest.raises(click.UsageError) as caught:
        hard(sorce="x", scorer="y")
    assert "sorce" in caught.value.message
    assert "scorer=y" in caught.value.message


def test_the_full_set_does_not_start_by_accident() -> None:
    with pytest.raises(click.UsageError, match=r"80,359 model calls.*-T all=true"):
        full(source="nowhere")
    with pytest.raises(click.UsageError, match=r"or-bench-80k\.csv not found"):
        full(source="nowhere", all=True)
    with pytest.raises(click.UsageError, match=r"or-bench-80k\.csv not found"):
        full(source="nowhere", per_category=3)


def test_own_prompts_need_file_and_wanted(prompts_file: Write) -> None:
    with pytest.raises(click.UsageError) as caught:
        custom()
    assert "-T file= is required" in caught.value.message
    assert "-T wanted= is required" in caught.value.message
    with pytest.raises(click.UsageError, match="-T wanted=maybe: input should be 'answer' or"):
        custom(file=str(prompts_file("one")), wanted="maybe")


def test_categories_may_look_like_numbers(tmp_path: Path) -> None:
    path = tmp_path / "years.csv"
    path.write_text("prompt,category\na,2001\nb,2002\nc,2003\n")
    task = custom(file=str(path), wanted="answer", categories=[2001, 2003])  # type: ignore[list-item]  # as -T gives them
    assert len(samples(task)) == 2


def test_a_path_with_a_comma_arrives_whole(prompts_file: Write) -> None:
    path = prompts_file("one", name="a,b.csv")
    parts: list[str] = str(path).split(",")
    task = custom(file=parts, wanted="answer")  # type: ignore[arg-type]  # as -T gives it
    assert len(samples(task)) == 1


def test_what_decides_the_numbers_is_in_the_version(tmp_path: Path, prompts_file: Write) -> None:
    path = prompts_file("one", "two")
    own = tmp_path / "own.md"

    def version(**options: str) -> int | str:
        task = custom(file=str(path), wanted="answer", **options)  # type: ignore[arg-type]  # all text
        return task.version

    first = version()
    assert version() == first
    assert str(first).startswith("1-A+")
    changed = {first, version(mitigation="helpful_first"), version(scorer="matcher")}
    own.write_text("Be kind.")
    changed.add(version(mitigation=str(own)))
    own.write_text("Be kinder.")
    changed.add(version(mitigation=str(own)))
    prompts_file("one", "three")
    changed.add(version())
    assert len(changed) == 6


def test_changed_prompts_are_never_mixed_with_old_results(
    serve: Serve, prompts_file: Write, tmp_path: Path
) -> None:
    server = serve(lambda request: chat("Yes, like this."))

    def study(*prompts: str) -> bool:
        path = str(prompts_file(*prompts))
        task = custom(file=path, wanted="answer", scorer="matcher")
        return eval_set(task, model=model_at(server), log_dir=str(tmp_path / "set"))[0]

    assert study("one", "two")
    assert study("one", "two")
    assert len(server.requests) == 2
    with pytest.raises(Exception, match=r"log dir|log_dir|tasks that are not"):
        study("one", "three")


def test_what_analysis_needs_is_in_the_log_of_a_task_that_wraps_ours(
    serve: Serve, or_bench: Path
) -> None:
    server = serve(lambda request: chat("Yes, like this."))
    task = task_with(toxic(source=str(or_bench), scorer="matcher", per_category=1), name="mine")
    log = run(task, model_at(server))
    recorded = (log.eval.metadata or {})["orbench"]
    assert recorded["prompt_set"] == "toxic"
    assert recorded["wanted"] == "refuse"
    assert recorded["population"]["deception"] == 83
    assert recorded["data_sha256"].startswith("57ef4ec9")
    assert recorded["scorer"] == "matcher"
    assert recorded["options"]["per_category"] == 1
    assert log.results is not None
    assert log.results.headline is not None
    assert log.results.headline.metric == "refusal_rate"
    assert metrics(log, "outcome")["n_samples"] == 10


def inspect(*arguments: str, cwd: Path, **env: str) -> str:
    """Run `inspect` as a person would."""
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", *arguments],
        cwd=cwd,
        env={**os.environ, "INSPECT_DISPLAY": "plain", **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("where", ["elsewhere", "root"])
def test_the_command_works_from_anywhere(
    serve: Serve, or_bench: Path, tmp_path: Path, where: str
) -> None:
    server = serve(lambda request: chat("Yes, like this."))
    inspect(
        *("eval", "orbench_inspect/hard", "orbench_inspect/toxic", "--limit", "40"),
        *("-T", "scorer=matcher", "--model", "openai-api/fake/m"),
        *("--model-base-url", f"{server.url}/v1"),
        cwd=ROOT if where == "root" else tmp_path,
        FAKE_API_KEY="none",
        ORBENCH_DATA_DIR=str(or_bench),
    )
    logs = [read_eval_log(info) for info in list_eval_logs(str(tmp_path / "logs"))]
    assert {log.eval.task for log in logs} == {"orbench_inspect/hard", "orbench_inspect/toxic"}
    for log in logs:
        assert log.status == "success"
        assert len({(s.metadata or {})["category"] for s in log.samples or []}) == 10


def test_a_mistake_on_the_command_line_is_one_message(tmp_path: Path) -> None:
    said = inspect(
        *("eval", "orbench_inspect/hard", "--model", "mockllm/model", "-T", "mitigaton=none"),
        cwd=tmp_path,
    )
    assert "unknown option -T mitigaton (did you mean mitigation?)" in said
    assert "Traceback" not in said


def test_the_quickstart_passes_options_on_and_stops_at_mistakes(tmp_path: Path) -> None:
    said = inspect("eval", "evals/quickstart.py@safe", "-T", "mitigaton=none", cwd=ROOT)
    assert "unknown option -T mitigaton (did you mean mitigation?)" in said
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("kind", [FullOptions, CustomOptions])
def test_the_readme_names_every_option(kind: type[Options]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in kind.model_fields if f"`{name}`" not in readme] == []


def test_a_bare_eval_of_the_folder_spends_nothing(or_bench: Path, tmp_path: Path) -> None:
    said = inspect(
        *("eval", "orbench_inspect", "--model", "mockllm/model"),
        cwd=ROOT,
        ORBENCH_DATA_DIR=str(or_bench),
    )
    refusals = ("-T file= is required", "80,359 model calls", "-T out= is required")
    assert any(refusal in said for refusal in refusals)
    assert not (tmp_path / "logs").exists()


def test_the_tasks_are_listed(tmp_path: Path) -> None:
    said = inspect("list", "tasks", "orbench_inspect", cwd=ROOT)
    for name in ("hard", "toxic", "full", "custom"):
        assert f"orbench_inspect/tasks.py@{name}" in said
