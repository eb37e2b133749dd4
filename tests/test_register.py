"""What Inspect's register of evals is told agrees with the code."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import orbench_inspect
from orbench_inspect import tasks
from orbench_inspect.measurement import TASK_VERSION
from orbench_inspect.options import CustomOptions, FullOptions, Options, ValidationOptions
from orbench_inspect.prompt_sets.records import OR_BENCH

ROOT = Path(__file__).parents[1]


@pytest.fixture
def entry() -> dict[str, Any]:
    text = (ROOT / "orbench_inspect/eval.yaml").read_text(encoding="utf-8")
    told: dict[str, Any] = yaml.safe_load(text)
    return told


def test_tasks_and_sizes_are_those_of_the_code(entry: dict[str, Any]) -> None:
    sizes = {task["name"]: task.get("dataset_samples") for task in entry["tasks"]}
    assert sizes == {
        **{prompt_set.name: prompt_set.total for prompt_set in OR_BENCH},
        "custom": None,
        "judge_validation": None,
    }
    assert all(getattr(tasks, name) is getattr(orbench_inspect, name) for name in sizes)


def test_the_version_is_that_of_the_tasks_and_has_its_changelog(entry: dict[str, Any]) -> None:
    assert entry["version"] == TASK_VERSION
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"- `{TASK_VERSION}`: " in changelog.partition("### Task versions")[2]


def test_the_pinned_revision_is_the_one_that_is_read(entry: dict[str, Any]) -> None:
    [asset] = entry["external_assets"]
    hubs = {(hub.repo, hub.revision) for s in OR_BENCH if (hub := s.hub)}
    [revision] = re.findall(r"[0-9a-f]{40}", asset["comment"])
    assert hubs == {(asset["source"], revision)}


def test_the_readme_gives_no_option_that_is_not_there() -> None:
    kinds: list[type[Options] | type[ValidationOptions]] = [FullOptions, CustomOptions]
    known = {name for kind in [*kinds, ValidationOptions] for name in kind.model_fields}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    given = set(re.findall(r"-T (\w+)=", readme)) - {"name"}
    assert given
    assert given - known == set()
