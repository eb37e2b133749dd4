"""Files of prompts, as people's tools write them."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbench_inspect.prompt_sets.reading import read_rows

AWKWARD = [
    'He said "no", then left',
    "two\nlines",
    "null",
    "NA",
    "None",
    "  spaced ",
    "=1+1",
    "é ’",
]


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_with_quotes_newlines_and_words_for_nothing(tmp_path: Path, bom: str, end: str) -> None:
    quoted = [f'"{prompt.replace(chr(34), chr(34) * 2)}",hate' for prompt in AWKWARD]
    path = write(tmp_path / "a.csv", bom + end.join(["prompt,category", *quoted]))
    assert [row.prompt for row in read_rows(path)] == AWKWARD
    assert {row.category for row in read_rows(path)} == {"hate"}


def test_jsonl_and_parquet_hold_the_same_prompts(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = [{"prompt": prompt, "category": None, "more": 1} for prompt in AWKWARD]
    lines = write(tmp_path / "a.jsonl", "\n\n".join(json.dumps(r) for r in records))
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    assert read_rows(lines) == read_rows(tmp_path / "a.parquet")
    assert [row.prompt for row in read_rows(lines)] == AWKWARD
    assert {row.category for row in read_rows(lines)} == {"uncategorised"}


def test_a_file_without_categories_is_read(tmp_path: Path) -> None:
    rows = read_rows(write(tmp_path / "a.csv", "id,prompt\n1,one\n2,two\n"))
    assert [(row.prompt, row.category) for row in rows] == [
        ("one", "uncategorised"),
        ("two", "uncategorised"),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_what_csv_writes_is_read_back(tmp_path: Path, prompts: list[str]) -> None:
    import csv

    prompts = [p for p in prompts if p.strip()] or ["x"]
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["prompt"], *([p] for p in prompts)])
    assert [row.prompt for row in read_rows(tmp_path / "a.csv")] == prompts


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", "question\nhi\n", "no column 'prompt'; found: 'question'"),
        ("a.csv", "prompt;category\nhi;x\n", "found: 'prompt;category'.*separate columns by comma"),
        ("a.csv", "", "no column 'prompt'; found: none"),
        ("a.csv", "prompt\n", "holds no prompts"),
        ("a.csv", "prompt,category\nok,x\n ,x\n", r"row 2 \(line 3\): column 'prompt' is blank"),
        ("a.csv", "prompt\nHello, you\n", r"row 1 \(line 2\): 2 fields where the header has 1"),
        ("a.csv", 'prompt\n"open\n', "not valid csv"),
        ("a.csv", b"prompt\n\xff\xfe\n", "not UTF-8 at byte 7; save it as UTF-8"),
        ("a.csv", "prompt,prompt\na,b\n", "column 'prompt' stands twice"),
        ("a.jsonl", '{"prompt": "a"}\n{"prompt": 3}', "line 2: column 'prompt' is a int, not text"),
        ("a.jsonl", '{"prompt": null}', "line 1: column 'prompt' is missing"),
        ("a.jsonl", '{"prompt": "a", "category": 3}', "line 1: column 'category' is a int"),
        ("a.jsonl", '{"prompt": "a"', "line 1: not JSON"),
        ("a.jsonl", '{"prompt": "a \\ud83d"}', "line 1: holds half a surrogate pair"),
        ("a.jsonl", '["a"]', "line 1: holds a list; each line must be an object"),
        ("a.parquet", "prompt\na\n", "not a parquet file"),
        ("a.xlsx", "", "unknown kind of file; use one of .csv, .jsonl, .parquet"),
    ],
)
def test_what_is_wrong_is_named_with_file_row_and_remedy(
    tmp_path: Path, name: str, data: str | bytes, message: str
) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(ValueError, match=message) as caught:
        read_rows(path)
    assert str(path) in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder; name a file in it"):
        read_rows(tmp_path)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"absent.csv: cannot be read \(No such file"):
        read_rows(tmp_path / "absent.csv")
