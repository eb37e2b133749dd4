"""Tables in csv, jsonl and parquet files, with errors that name the row and the column."""

import csv
import json
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

_Reader = Callable[[Path, str, Collection[str] | None], Iterator[tuple[str, dict[str, Any]]]]


def read_table(
    path: Path, column: str, columns: Collection[str] | None = None, spreadsheet: bool = False
) -> list[tuple[str, dict[str, Any]]]:
    """Read a table.

    Args:
        path: The file; its ending says what it is.
        column: A column it must have.
        columns: Those to read where reading others costs memory; all if left out.
        spreadsheet: Whether the file may have been saved by a spreadsheet: csv with semicolons
            or tabs, and as UTF-16, as some save it.

    Returns:
        Each row with the words that name its place in the file.

    Raises:
        ValueError: If the file cannot be read, naming file, row and remedy.
    """
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file in it")
    readers: dict[str, _Reader] = {
        ".csv": partial(_csv, spreadsheet=spreadsheet),
        ".jsonl": _jsonl,
        ".parquet": _parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: unknown kind of file; use one of {', '.join(readers)}")
    try:
        return list(reader(path, column, columns))
    except UnicodeDecodeError as ex:
        raise ValueError(f"{path}: not UTF-8 at byte {ex.start}; save it as UTF-8") from ex
    except OSError as ex:
        # Absolute: a task named by its file is loaded in that file's folder.
        raise ValueError(f"{path.absolute()}: cannot be read ({ex.strerror or ex})") from ex


def kind_of(value: object) -> str:
    """What a cell holds, for an error message."""
    return "missing" if value is None else f"a {type(value).__name__}"


def _csv(
    path: Path, column: str, columns: Collection[str] | None, spreadsheet: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    wide = spreadsheet and path.read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff")
    with path.open(encoding="utf-16" if wide else "utf-8-sig", newline="") as file:
        # The module's limit of 131,072 characters a field is a guard against misread files.
        csv.field_size_limit(10_000_000)
        separator = _separator(file, column) if spreadsheet else ","
        reader = csv.reader(file, strict=True, delimiter=separator)
        try:
            header = [name.strip() for name in next(reader, [])]
            _check_columns(path, header, column, columns)
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


def _separator(file: TextIO, column: str) -> str:
    """What separates the header's columns, one of which is known."""
    header = file.readline()
    file.seek(0)
    parts = {mark: [name.strip(' "\r\n') for name in header.split(mark)] for mark in ",;\t"}
    return next((mark for mark, names in parts.items() if column in names and names[1:]), ",")


def _jsonl(
    path: Path, column: str, columns: Collection[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
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
                    f"{path}, line {number}: holds {kind_of(record)}; "
                    'each line must be an object such as {"prompt": "…"}'
                )
            yield f"line {number}", record


def _parquet(
    path: Path, column: str, columns: Collection[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        _check_columns(path, names, column, columns)
        wanted = [name for name in names if columns is None or name in columns]
        records = file.read(columns=wanted).to_pylist()
    except pa.ArrowInvalid as ex:
        raise ValueError(f"{path}: not a parquet file ({ex})") from ex
    for number, record in enumerate(records, 1):
        yield f"row {number}", record


def _check_columns(
    path: Path, found: list[str], column: str, columns: Collection[str] | None
) -> None:
    if column not in found:
        raise ValueError(
            f"{path}: no column '{column}'; found: {', '.join(map(repr, found)) or 'none'}. "
            f"Rename the column that holds it, and separate columns by commas"
        )
    twice = {name for name in found if found.count(name) > 1}
    if twice and (columns is None or twice & set(columns)):
        raise ValueError(f"{path}: column {sorted(twice)[0]!r} stands twice in the header")
