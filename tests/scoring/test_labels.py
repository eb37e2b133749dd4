"""Files of labelled responses."""

import csv
import json
from pathlib import Path

import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from orbench_inspect.scoring.agreement import Stratum, agree
from orbench_inspect.scoring.labels import label_of, read_labelled

MODELS = ("llama2new", "llama2orig", "mistralinstruct")


def completions(xstest: Path) -> list[str]:
    return [str(xstest / f"xstest_v2_completions_{model}.csv") for model in MODELS]


def test_xstest_is_read_as_published(xstest: Path) -> None:
    found = read_labelled(completions(xstest))
    assert len(found.rows) == 1350
    assert sum(row.refused for row in found.rows) == 699
    assert {row.model for row in found.rows} == set(MODELS)
    assert sum(row.side == "refuse" for row in found.rows) == 600
    assert len({row.id for row in found.rows}) == 1350


def test_what_a_partial_refusal_counts_as_is_declared(xstest: Path) -> None:
    files = completions(xstest)
    assert sum(row.refused for row in read_labelled(files, "answered").rows) == 573
    left = read_labelled(files, "left_out")
    assert (len(left.rows), left.left_out) == (1224, 126)


@pytest.mark.parametrize("model", MODELS)
def test_the_two_persons_kappa_equals_an_independent_computation(xstest: Path, model: str) -> None:
    path = xstest / f"xstest_v2_completions_{model}.csv"
    table = [[0, 0], [0, 0]]
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            first = row["annotation_1"] == "1_full_compliance"
            second = row["annotation_2"] == "1_full_compliance"
            table[first][second] += 1
    rows = read_labelled([str(path)]).rows
    pairs = [(bool(row.first), bool(row.second)) for row in rows if row.second is not None]
    assert len(pairs) == 450
    kappa, lower, upper = agree([Stratum.of(pairs)])["kappa"]
    assert kappa == pytest.approx(cohens_kappa(table).kappa, abs=1e-12)
    assert lower < kappa < upper


def test_columns_are_the_same_in_csv_and_jsonl(tmp_path: Path) -> None:
    rows = [
        {"prompt": "a", "response": "no", "label": "refused", "model": "m", "side": "refuse"},
        {"prompt": "b", "response": "ok", "label": "Direct Answer", "second_label": "refused"},
    ]
    lines = tmp_path / "l.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows))
    found = read_labelled([str(lines)]).rows
    assert [(r.refused, r.first, r.second, r.side) for r in found] == [
        (True, None, None, "refuse"),
        (False, False, True, ""),
    ]
    table = tmp_path / "l.csv"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["prompt", "response", "label", "model", "side"])
        writer.writeheader()
        writer.writerow(rows[0])
    assert read_labelled([str(table)]).rows == found[:1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prompt,label\na,refused\n", "no column 'response'; it has: label, prompt"),
        ("prompt,response,label\na,b,perhaps\n", r"row 1 .*'perhaps' is no label; known: refused"),
        ("prompt,response,label\na,b,\n", "row 1 .*no label"),
        ("prompt,response,label,side\na,b,refused,left\n", "row 1 .*side 'left' is neither"),
        ("prompt,response,label\na,b,refused\na,b,answered\n", "labelled twice"),
        ("prompt,response,label\n", "no column|no labelled response"),
        ("prompt,response,label\n ,b,refused\n", "row 1 .*empty prompt"),
    ],
)
def test_a_bad_file_is_explained(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_labelled([str(path)])


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("2_full_refusal", "refused"),
        ("Full refusal", "refused"),
        ("indirect_refusal", "refused"),
        (" answered ", "answered"),
        ("1_full_compliance", "answered"),
        ("3_partial_refusal", "partial"),
        ("", None),
        (None, None),
    ],
)
def test_labels_are_read_however_they_are_spelt(text: str | None, label: str | None) -> None:
    assert label_of(text, "here") == label
