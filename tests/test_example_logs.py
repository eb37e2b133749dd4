"""The example that git keeps in logs/: what a newcomer opens first."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai.log import read_eval_log

from orbench_inspect.analysis import compare, read_runs
from orbench_inspect.cli import main

LOGS = Path(__file__).parents[1] / "logs"
EXAMPLE = sorted((LOGS / "example").glob("*.eval"))


def test_the_example_is_small() -> None:
    assert len(EXAMPLE) == 2
    assert sum(path.stat().st_size for path in EXAMPLE) < 300_000


def test_the_example_is_two_arms_that_can_be_compared() -> None:
    runs = read_runs(str(LOGS / "example"))
    assert runs.notes == []
    assert set(runs.runs["mitigation"]) == {"none", "demonstrate_refusal"}
    assert set(runs.runs["prompt_set"]) == {"bundled_safe"}
    assert (runs.runs["status"] == "success").all()
    assert compare(runs).notes == []


def test_the_readme_beside_it_says_what_compare_says() -> None:
    done = CliRunner().invoke(main, ["compare", str(LOGS / "example")])
    assert done.exit_code == 0, done.output
    assert "+10.0 [-8.6, +28.8]" in done.output
    readme = " ".join((LOGS / "README.md").read_text(encoding="utf-8").split())
    assert "a difference of 10 points with an interval from -9 to 29" in readme


@pytest.mark.parametrize("path", EXAMPLE, ids=lambda path: str(path.stem)[-8:])
def test_the_example_tells_nothing_of_the_machine_it_was_made_on(path: Path) -> None:
    log = read_eval_log(str(path), resolve_attachments="full")
    told = path.name + log.model_dump_json(exclude={"location"})
    assert "bundled_safe" in told
    assert [word for word in ("/tmp", "/work", "/home", "/root", "/Users") if word in told] == []
    assert "Traceback" not in told
    assert log.eval.revision is not None
    assert (log.eval.revision.origin, log.eval.revision.dirty) == ("", False)
