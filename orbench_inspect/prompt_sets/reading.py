"""Files of prompts."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from orbench_inspect.prompt_sets.records import Identified, Row
from orbench_inspect.tables import kind_of, read_table

UNCATEGORISED = "uncategorised"
"""Category of a prompt whose file gives it none."""


_HALF = re.compile("[\ud800-\udfff]")


def read_prompts(set_name: str, path: Path) -> Identified:
    """Read a file's prompts and give them their ids: once, however many tasks ask them.

    A file that has changed is read again.

    Args:
        set_name: The set's name, for the ids.
        path: The file.

    Raises:
        ValueError: As for `read_rows`.
    """
    try:
        found = path.stat()
    except OSError:  # told by what reads it
        return Identified.of(set_name, read_rows(path))
    return _read(set_name, path, str(path.absolute()), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _read(set_name: str, path: Path, place: str, changed: int, size: int) -> Identified:
    return Identified.of(set_name, read_rows(path))


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
    table = read_table(path, "prompt", ("prompt", "category"))
    if not table:
        raise ValueError(f"{path}: holds no prompts")
    return [_row(path, where, record) for where, record in table]


def _row(path: Path, where: str, record: dict[str, Any]) -> Row:
    prompt, category = record.get("prompt"), record.get("category")
    if not isinstance(prompt, str):
        raise ValueError(
            f"{path}, {where}: column 'prompt' is {kind_of(prompt)}, not text; "
            "give the row a prompt or delete it"
        )
    if not prompt.strip():
        raise ValueError(f"{path}, {where}: column 'prompt' is blank; fill it or delete the row")
    if _HALF.search(f"{prompt}{category}"):
        raise ValueError(f"{path}, {where}: holds half a surrogate pair; write the character whole")
    if category is not None and not isinstance(category, str):
        raise ValueError(f"{path}, {where}: column 'category' is {kind_of(category)}, not text")
    return Row(prompt, (category or "").strip() or UNCATEGORISED)
