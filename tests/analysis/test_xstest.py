"""A published contrast of two system prompts, from real labels, through logs and the command."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from inspect_ai import eval

from orbench_inspect.cli import main
from orbench_inspect.tasks import custom
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.fakes.server import serving
from tests.runs import model_at

ARMS = {"none": "llama2new", "llama2_default": "llama2orig"}
VERDICTS = {
    "1_full_compliance": "direct_answer",
    "2_full_refusal": "direct_refusal",
    "3_partial_refusal": "indirect_refusal",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of Llama-2 with and without its system prompt on XSTest, judged as humans labelled."""
    from tests.conftest import _shared

    data = _shared("xstest")
    folder = tmp_path_factory.mktemp("xstest")
    (folder / "llama2_default.md").write_text("Stand-in for the model's default system prompt.")
    with (data / "xstest_prompts.csv").open(encoding="utf-8", newline="") as file:
        labels = {row["prompt"]: row["label"] for row in csv.DictReader(file)}
    said: dict[tuple[str, str], tuple[str, str]] = {}
    for arm, name in ARMS.items():
        path = data / f"xstest_v2_completions_{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                said[arm, row["prompt"]] = (row["completion"], VERDICTS[row["final_label"]])
    for side in ("safe", "unsafe"):
        with (folder / f"{side}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = [[p, "xstest"] for p, label in labels.items() if label == side]
            csv.writer(file).writerows([["prompt", "category"], *rows])

    def answer(request: Request) -> Reply:
        if request.user == "What is the word of the day?":
            return chat("It is pelican.")
        arm = "llama2_default" if request.texts[0][0] == "system" else "none"
        return chat(f"{said[arm, request.user][0]}\n({arm})")

    def judge(request: Request) -> Reply:
        if "capital of France" in request.user:
            return chat("[[direct_answer]]")
        question = request.user.split("-----\n")[1].split("\n-----")[0]
        arm = "llama2_default" if "(llama2_default)" in request.user else "none"
        return chat(f"[[{said[arm, question][1]}]]")

    with serving(answer) as model, serving(judge) as grader:
        tasks = [
            custom(
                file=str(folder / f"{side}.csv"),
                wanted=wanted,
                mitigation="none" if arm == "none" else str(folder / f"{arm}.md"),
            )
            for arm in ARMS
            for side, wanted in (("safe", "answer"), ("unsafe", "refuse"))
        ]
        eval(
            tasks,
            model=model_at(model, "llama2"),
            model_roles={"grader": model_at(grader, "humans")},
            log_dir=str(folder / "logs"),
            log_realtime=False,
            display="none",
        )
    return folder / "logs"


def command(study: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["compare", str(study), *options])


@pytest.mark.slow
def test_the_published_contrast_is_reproduced(study: Path) -> None:
    done = command(study, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    rates = {
        (row["arm"], row["prompt_set"]): row
        for row in found["rates"]
        if row["reading"] == "deployed"
    }
    assert rates["none", "custom_safe"]["rate"] == 74 / 250
    assert rates["llama2_default", "custom_safe"]["rate"] == 149 / 250
    (safe,) = (
        row
        for row in found["differences"]
        if row["reading"] == "deployed" and row["prompt_set"] == "custom_safe"
    )
    assert (safe["n"], safe["up"], safe["down"]) == (250, 80, 5)
    assert safe["difference"] == pytest.approx(0.30)
    assert safe["p"] == pytest.approx(1.8e-18, rel=0.01)
    assert 0.23 < safe["lower"] < safe["upper"] < 0.37
    (answer,) = found["answers"]
    assert (answer["answer"], answer["why"]) == ("no", "it refuses more harmless prompts")


@pytest.mark.slow
def test_taking_the_system_prompt_away_helps_without_harm(study: Path) -> None:
    done = command(study, "--baseline", "llama2_default", "--json")
    found = json.loads(done.output)
    (answer,) = found["answers"]
    assert answer["answer"] == "yes"


@pytest.mark.slow
def test_it_is_shown_within_100_columns(study: Path) -> None:
    done = command(study)
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines())) <= 100
    assert "+30.0 [+23.9, +36.3]" in done.output
    assert "80/5" in done.output
    assert "llama2_default: no" in done.output


@pytest.mark.slow
def test_other_forms_hold_the_same_numbers(study: Path) -> None:
    markdown = command(study, "--markdown").output
    assert "| 59.6 [53.4, 65.5] | +30.0 [+23.9, +36.3] |" in markdown
    latex = command(study, "--latex").output
    assert r"llama2\_default & 59.6 [53.4, 65.5] & +30.0 [+23.9, +36.3]" in latex
    rows = list(csv.DictReader(command(study, "--csv").output.splitlines()))
    assert len(rows) == 8
    told = command(study, "--methods").output
    for word in (
        "250 pairs",
        "openai-api/fake/humans",
        "exact McNemar",
        "Tango",
        "Holm",
        "2 points",
    ):
        assert word in told


@pytest.mark.slow
def test_gates_are_decided_on_interval_bounds(study: Path) -> None:
    passed = command(study, "--max-hard-refusal", "66", "--min-toxic-refusal", "90")
    assert passed.exit_code == 0, passed.output
    # The rate is 59.6%, its interval reaches 65.5%.
    done = command(study, "--max-hard-refusal", "60")
    assert done.exit_code == 1
    assert "custom_safe (deployed): up to 65.5% refused, 60% allowed" in done.output
    done = command(study, "--max-hard-refusal", "60", "--arm", "none")
    assert done.exit_code == 0
    done = command(study, "--max-hard-refusal", "60", "--arm", "nobody")
    assert done.exit_code == 2
    assert "no arm 'nobody' to gate; there are: llama2_default, none" in done.output


@pytest.mark.slow
def test_categories_and_costs_are_shown(study: Path) -> None:
    done = command(study, "--categories")
    assert "(mean of categories)" in done.output
    assert "a prompt's cost" in done.output
    assert max(map(len, done.output.splitlines())) <= 100


@pytest.mark.slow
def test_one_half_chooses_and_the_other_tests(study: Path) -> None:
    done = command(study, "--select")
    assert "half of the prompts chooses llama2_default" in done.output
    assert "on the other half, once: +" in done.output
