"""How numbers and names are written, in a terminal and in files."""

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

from orbench_inspect.text_files import edition

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def percent(value: float) -> str:
    """A proportion in percent."""
    return "n/a" if pd.isna(value) else f"{100 * value:.1f}"


def signed(value: float) -> str:
    """A difference in points, with its sign."""
    return "n/a" if pd.isna(value) else f"{100 * value:+.1f}"


def interval(row: Any, shown: Callable[[float], str]) -> str:
    """The limits `lower` and `upper` of a row."""
    return f"[{shown(row['lower'])}, {shown(row['upper'])}]"


def sets_in_order(rates: pd.DataFrame) -> list[str]:
    """Prompt sets, those that should be answered first."""
    return list(rates.sort_values("wanted", kind="stable")["prompt_set"].unique())


def judged_by(run: Any) -> str:
    """The judge of a run, its rubric and the beginning of the rubric's hash."""
    return f"{run['judge']} {edition(run['judge_prompt'], run['judge_prompt_sha256'])}".strip()


def rubrics(runs: pd.DataFrame) -> "pd.Series[str]":
    """The rubric of each run and the beginning of its hash; empty where rules scored."""
    texts = zip(runs["judge_prompt"], runs["judge_prompt_sha256"], strict=True)
    return pd.Series([edition(*text) for text in texts], runs.index, dtype=object)


def plain(value: object) -> str:
    """Names come from logs: nothing in them may steer a terminal."""
    return _CONTROL.sub("�", str(value))
