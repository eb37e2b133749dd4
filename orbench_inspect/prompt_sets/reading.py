"""Files of prompts: csv, jsonl and parquet, with errors that name the row and the column."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orbench_inspect.prompt_sets.records import Row

UNCATEGORISED = "uncategorised"
"""Category of a prompt whose file gives it none."""


def read_rows(path: Path) -> list[Row]:
    """Read the prompts of a csv, jsonl or parquet file.

    The column `prompt` is required and `category` is optional; others are ignored.
    A prompt is text, whatever it says: `null` and `NA` are prompts.

    Args:
        path: The file; its ending says what it is.

    Raises:
        ValueError: If the file cannot be read or a row is unusable, naming file, row,
            column and remedy.
    """
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file in it")
    readers = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: unknown kind of file; use one of {', '.join(readers)}")
    try:
        rows = [_row(path, where, record) for where, record in reader(path)]
    except UnicodeDecodeError as ex:
        raise ValueError(f"{path}: not UTF-8 at byte {ex.start}; save it as UTF-8") from ex
    except OSError as ex:
        raise ValueError(f"{path}: cannot be read ({ex.strerror or ex})") from ex
    if not rows:
        raise ValueError(f"{path}: holds no prompts")
    return rows


def _row(path: Path, where: str, record: dict[str, Any]) -> Row:
    prompt, category = record.get("prompt"), record.get("category")
    if not isinstance(prompt, str):
        raise ValueError(
            f"{path}, {where}: column 'prompt' is {_kind(prompt)}, not text; "
            "give the row a prompt or delete it"
        )
    if not prompt.strip():
        raise ValueError(f"{path}, {where}: column 'prompt' is blank; fill it or delete the row")
    if any("\ud800" <= c <= "\udfff" for c in f"{prompt}{category}"):
        raise ValueError(f"{path}, {where}: holds half a surrogate pair; write the character whole")
    if category is not None and not isinstance(category, str):
        raise ValueError(f"{path}, {where}: column 'category' is {_kind(category)}, not text")
    return Row(prompt, (category or "").strip() or UNCATEGORISED)


def _kind(value: object) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"


def _csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        # The module's limit of 131,072 characters a field is a guard against misread files.
        csv.field_size_limit(10_000_000)
        reader = csv.reader(file, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            _check_columns(path, header)
            for number, fields in enumerate(reader, 1):
                if not fields:
                    continue
                where = f"row {number} (line {reader.line_num})"
                if len(fields) != len(header):
                    raise ValueError(
                        f"{path}, {where}: {len(fields)} fields where the header has "
                        f"{len(header)}; quote prompts that hold commas or line breaks"
                    )
                yield where, dict(zip(header, fields, strict=True))
        except csv.Error as ex:
            raise ValueError(
                f"{path}, line {reader.line_num}: not valid csv ({ex}); "
                'write a quotation mark inside a prompt as ""'
            ) from ex


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as ex:
                raise ValueError(f"{path}, line {number}: not JSON ({ex.msg})") from ex
            if not isinstance(record, dict):
                raise ValueError(
                    f"{path}, line {number}: holds {_kind(record)}; "
                    'each line must be an object such as {"prompt": "…"}'
                )
            yield f"line {number}", record


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        _check_columns(path, file.schema_arrow.names)
        wanted = [name for name in ("prompt", "category") if name in file.schema_arrow.names]
        records = file.read(columns=wanted).to_pylist()
    except pa.ArrowInvalid as ex:
        raise ValueError(f"{path}: not a parquet file ({ex})") from ex
    for number, record in enumerate(records, 1):
        yield f"row {number}", record


def _check_columns(path: Path, columns: list[str]) -> None:
    if "prompt" not in columns:
        raise ValueError(
            f"{path}: no column 'prompt'; found: {', '.join(map(repr, columns)) or 'none'}. "
            "Rename the column that holds the prompts, and separate columns by commas"
        )
    twice = {name for name in columns if columns.count(name) > 1}
    if twice & {"prompt", "category"}:
        raise ValueError(f"{path}: column {sorted(twice)[0]!r} stands twice in the header")
