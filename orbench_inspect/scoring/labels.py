"""Responses with human labels, from a file: what a judge is validated on."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from orbench_inspect.tables import read_table

Partial = Literal["refused", "answered", "left_out"]
"""What a human label of partial refusal counts as."""

REFUSED, ANSWERED, PARTIAL = "refused", "answered", "partial"

_WORDS = {
    **dict.fromkeys(("refused", "refusal", "full_refusal", "direct_refusal"), REFUSED),
    "indirect_refusal": REFUSED,
    **dict.fromkeys(("answered", "answer", "direct_answer"), ANSWERED),
    **dict.fromkeys(("compliance", "full_compliance"), ANSWERED),
    **dict.fromkeys(("partial", "partial_refusal", "partial_answer"), PARTIAL),
}
_NAMES = {
    "prompt": ("prompt",),
    "response": ("response", "completion"),
    "label": ("label", "final_label"),
    "second": ("second_label", "second", "label_2"),
    "model": ("model",),
    "side": ("side", "wanted"),
}
_XSTEST = ("completion", "annotation_1", "annotation_2", "final_label")


@dataclass(frozen=True)
class Labelled:
    """A response and what humans said of it."""

    id: str
    prompt: str
    response: str
    refused: bool
    """The human label."""
    first: bool | None = None
    """Of two labels of single persons, the first; None where one person labelled."""
    second: bool | None = None
    """The second person's label."""
    model: str = ""
    """The model that responded."""
    side: str = ""
    """What should have happened to the prompt, `answer` or `refuse`, if known."""


@dataclass(frozen=True)
class LabelledSet:
    """Labelled responses of one or more files."""

    rows: list[Labelled]
    left_out: int
    """Rows whose label is a partial refusal, where these are left out."""
    sha256: str
    """Hash of the files' bytes."""


def read_labelled(files: Iterable[str], partial: Partial = "refused") -> LabelledSet:
    """Read labelled responses.

    Columns are `prompt`, `response` and `label`, and, if known, `model`, `side` and
    `second_label`. XSTest's published completions are read as they are: their final label
    counts, the two annotations beside it are the two persons, `contrast` types should be refused,
    and the model is named in the file's name.

    Args:
        files: csv, jsonl or parquet.
        partial: What a label of partial refusal counts as.

    Raises:
        ValueError: If a file cannot be read, a column is missing, a row has no response, or a
            label is none we know, naming file and row.
    """
    rows: list[Labelled] = []
    left_out = 0
    digest = sha256()
    for file in files:
        path = Path(file).expanduser()
        found = list(_rows(path, partial))
        rows += [row for row in found if row is not None]
        left_out += sum(row is None for row in found)
        digest.update(path.read_bytes())
    if not rows:
        raise ValueError(f"{', '.join(files)}: no labelled response in it")
    ids = [row.id for row in rows]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise ValueError(f"{twice}: the same response of the same model is labelled twice")
    return LabelledSet(rows, left_out, digest.hexdigest())


def label_of(text: object, where: str) -> str | None:
    """A human's label as `refused`, `answered` or `partial`; None where none was given.

    Raises:
        ValueError: If it is no label.
    """
    word = re.sub(r"[\s_-]+", "_", str(text or "").strip().lower())
    word = re.sub(r"^\d_(?=[a-z])", "", word)
    if not word:
        return None
    if word not in _WORDS:
        known = ", ".join((REFUSED, ANSWERED, PARTIAL))
        raise ValueError(f"{where}: '{text}' is no label; known: {known}, and the verdicts")
    return _WORDS[word]


def _rows(path: Path, partial: Partial) -> Iterable[Labelled | None]:
    table = read_table(path, "prompt")
    columns = {column for _, row in table for column in row}
    xstest = columns.issuperset(_XSTEST)
    names = {
        name: next((column for column in columns_of if column in columns), None)
        for name, columns_of in _NAMES.items()
    }
    missing = [name for name in ("prompt", "response", "label") if names[name] is None]
    if missing:
        raise ValueError(
            f"{path}: no column '{missing[0]}'; it has: {', '.join(sorted(columns)) or 'none'}"
        )
    model = re.sub(r"^xstest_v2_completions_", "", path.stem) if xstest else ""
    for place, row in table:
        where = f"{path}, {place}"
        cells = {name: row.get(column) for name, column in names.items() if column}
        if xstest:
            side = "refuse" if str(row.get("type", "")).startswith("contrast") else "answer"
            cells |= {"model": model, "side": side}
            cells |= {"first": row["annotation_1"], "second": row["annotation_2"]}
        yield _labelled(cells, partial, where)


def _labelled(cells: Mapping[str, Any], partial: Partial, where: str) -> Labelled | None:
    prompt, response = cells["prompt"], cells["response"]
    if response is None:
        raise ValueError(f"{where}: no response; an empty one is an empty text")
    for name, text in (("prompt", prompt or ""), ("response", response)):
        if not isinstance(text, str):
            raise ValueError(f"{where}: the {name} is no text, but {str(text)[:40]}")
    if not (prompt or "").strip():
        raise ValueError(f"{where}: empty prompt")
    side = str(cells.get("side") or "")
    if side not in ("", "answer", "refuse"):
        raise ValueError(f"{where}: side '{side}' is neither 'answer' nor 'refuse'")
    given = label_of(cells["label"], where)
    if given is None:
        raise ValueError(f"{where}: no label")
    if given == PARTIAL and partial == "left_out":
        return None
    second = counted(label_of(cells.get("second"), where), partial)
    first = counted(label_of(cells.get("first", cells["label"]), where), partial)
    model = str(cells.get("model") or "")
    digest = sha256("\0".join((model, prompt, response)).encode()).hexdigest()[:16]
    return Labelled(
        id=f"{model}-{digest}" if model else digest,
        prompt=prompt,
        response=response,
        refused=bool(counted(given, partial)),
        first=None if second is None else first,
        second=second,
        model=model,
        side=side,
    )


def counted(label: str | None, partial: Partial) -> bool | None:
    """Whether a label counts as refused; None where it does not count at all."""
    if label is None or (label == PARTIAL and partial == "left_out"):
        return None
    return label == REFUSED or (label == PARTIAL and partial == "refused")
