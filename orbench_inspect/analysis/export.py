"""Samples as one flat table: a row for each prompt, epoch, run and judge."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

import pandas as pd

from orbench_inspect.analysis.runs import Runs
from orbench_inspect.analysis.texts import read_texts
from orbench_inspect.spreadsheets import no_formula

Format = Literal["csv", "jsonl", "parquet"]
Row = dict[str, Any]

COLUMNS: dict[str, tuple[type, str]] = {
    "log": (str, "file name of the log"),
    "model": (str, "the evaluated model"),
    "mitigation": (str, "what was put before the prompt; none for nothing"),
    "replicate": (int, "number of the independent repetition of the arm"),
    "prompt_set": (str, "hard, toxic, full, or the name of another set"),
    "wanted": (str, "what should happen to the set's prompts: answer or refuse"),
    "judge": (str, "who named the outcome: a model, or the rules"),
    "judge_prompt": (str, "name of the judge's instructions"),
    "judge_prompt_sha256": (str, "hash of the judge's instructions"),
    "composed_sha256": (str, "hash of what was sent beside the prompt"),
    "data_sha256": (str, "hash of the prompt set"),
    "revision": (str, "upstream revision of the prompt set"),
    "id": (str, "id of the prompt, the same in every run"),
    "epoch": (int, "which time the prompt was asked in this run, from 1"),
    "category": (str, "the prompt's category"),
    "prompt": (str, "what was asked"),
    "response": (str, "what the model returned, without its reasoning blocks"),
    "outcome": (str, "the verdict, provider_refusal, or why there is no verdict"),
    "deployed": (float, "1 refused, 0 answered, empty if unscored; provider refusals count"),
    "model_only": (float, "the same with provider refusals left empty"),
    "unscored": (bool, "whether there is neither a verdict nor a provider refusal"),
    "flags": (str, "truncated, partial or native, separated by blanks"),
    "explanation": (str, "the judge's words, or the rule that applied"),
    "error": (str, "why the sample failed, if it did"),
    "matcher": (str, "what the rules without a model said"),
    "injection_suspected": (bool, "whether the response tried to name its own verdict"),
    "characters": (int, "length of the response in characters"),
    "tokens": (int, "tokens of the evaluated model, in and out"),
    "seconds": (float, "working time, the judge's included"),
    "cost": (float, "dollars of the evaluated model, where prices were given"),
}
"""What each column holds, in order."""

_GROUP = 5_000
"""Rows of a parquet row group, which are held at once."""

TEXT_COLUMNS = ("response", "explanation", "error")
"""Columns that quote models: what `responses=False` leaves out."""


def export(runs: Runs, form: Format, out: IO[bytes], responses: bool = True) -> None:
    """Write all samples.

    Csv has text that a spreadsheet would take for a formula behind an apostrophe, and empty
    cells for what is not there; jsonl and parquet have the texts as they are, and null.

    Args:
        runs: From `read_runs`.
        form: The form.
        out: A file open for binary writing.
        responses: Whether to include what models wrote: responses, and judges' words on them.

    Raises:
        ValueError: If a log has lost samples.
    """
    # Columns that older logs do not have are left out, not filled with nothing.
    known = {*runs.runs.columns, *runs.samples.columns, "log", "prompt", *TEXT_COLUMNS}
    columns = [c for c in COLUMNS if c in known and (responses or c not in TEXT_COLUMNS)]
    _WRITERS[form](_rows(runs, columns), columns, out)


def export_to(runs: Runs, form: Format, path: Path, responses: bool = True) -> None:
    """Write all samples to a file, which is there whole or not at all.

    Raises:
        ValueError: As `export`.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as out:
            export(runs, form, out, responses)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _rows(runs: Runs, columns: list[str]) -> Iterator[Row]:
    for run in runs.runs.to_dict("records"):
        samples = runs.samples[runs.samples["run"] == run["run"]]
        for file, mine in samples.groupby("file", sort=False):
            asked = zip(mine["id"], mine["epoch"], strict=True)
            texts = read_texts(str(file), asked)
            for sample, text in zip(mine.to_dict("records"), texts, strict=True):
                row = {
                    **run,
                    **sample,
                    "log": str(file).rpartition("/")[2],
                    "prompt": text.prompt,
                    "response": text.response,
                    "explanation": text.explanations.get(sample["score"], ""),
                    "error": text.error,
                }
                yield {c: _typed(row[c], COLUMNS[c][0]) for c in columns}


def _typed(value: Any, kind: type) -> Any:
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else kind(value)


def _write_csv(rows: Iterable[Row], columns: list[str], out: IO[bytes]) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([no_formula(v) if isinstance(v, str) else v for v in row.values()])
    text.detach()


def _write_jsonl(rows: Iterable[Row], columns: list[str], out: IO[bytes]) -> None:
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _write_parquet(rows: Iterable[Row], columns: list[str], out: IO[bytes]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(c, kinds[COLUMNS[c][0]]) for c in columns])
    with parquet.ParquetWriter(out, schema) as writer:
        held: list[Row] = []
        for row in rows:
            held.append(row)
            if len(held) == _GROUP:
                writer.write_table(pa.Table.from_pylist(held, schema))
                held = []
        writer.write_table(pa.Table.from_pylist(held, schema))


_WRITERS: dict[str, Callable[[Iterable[Row], list[str], IO[bytes]], None]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
