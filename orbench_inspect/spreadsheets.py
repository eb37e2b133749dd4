"""Texts in csv files that people open in a spreadsheet."""

import re

LONGEST = 30_000
"""Characters kept of a text; a spreadsheet's cell holds 32,767."""

# Full-width signs, tab and line ends too: some spreadsheets start a formula at them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def safe_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, without control characters.

    A text that would be one is given an apostrophe, which spreadsheets show as text.
    """
    plain = _CONTROL.sub("�", text)
    if len(plain) > LONGEST:
        plain = f"{plain[:LONGEST]} […{len(plain) - LONGEST:,} characters more in the log]"
    return no_formula(plain)


def no_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def same_cell(one: str, other: str) -> bool:
    """Whether two cells hold the same text, however a spreadsheet saved it."""
    return _bare(one) == _bare(other)


def is_cut_off(cell: str, whole: str) -> bool:
    """Whether a cell holds only the beginning of a text, as some programs leave it."""
    return len(_bare(cell)) >= 100 and _bare(whole).startswith(_bare(cell))


def _bare(cell: str) -> str:
    return re.sub(r"\s+", " ", cell.strip().removeprefix("'")).strip()
