"""Drawing responses of a study for a person to label, without showing what the judge said.

Source of the design: stratified sampling by the judge's verdict (as for verification bias in
diagnostic tests, Begg and Greenes, Biometrics 39, 1983), which finds most about the judge's
error for a number of labels; joining the labels weights them back.
"""

import csv
from dataclasses import dataclass, replace
from hashlib import sha256
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from inspect_ai.log import EvalSample

from orbench_inspect.analysis.arms import labelled, one_run_each
from orbench_inspect.analysis.runs import Runs
from orbench_inspect.analysis.texts import read_samples
from orbench_inspect.analysis.wording import judged_by
from orbench_inspect.scoring.response import read_response
from orbench_inspect.spreadsheets import safe_cell

COLUMNS = ("row", "prompt", "response", "label", "comment", "drawn_by", "drawn")
STRATUM = ["group", "arm", "prompt_set", "verdict"]
"""Columns that name a stratum, whatever number its run has."""
FEWEST = 5
"""Labels a stratum must have, where it has as many responses, before errors are told from it."""


@dataclass(frozen=True)
class Drawn:
    """What was drawn."""

    rows: pd.DataFrame
    """The samples, in the order they are shown."""
    strata: pd.DataFrame
    """One row a stratum: `group`, `arm`, `prompt_set`, `verdict`, `size`, `drawn`, `weight`."""


def draw(runs: Runs, n: int, seed: int = 1) -> Drawn:
    """Draw responses, stratified over arm, prompt set and what the judge said.

    Every arm and set gets the same number; within it the strata of refused and answered share
    by the square root of their sizes, each at least 5 if so many are drawn. Provider refusals and
    unscored responses are not drawn: there is no verdict on them to check.

    Args:
        runs: From `read_runs`, with one judge's scores.
        n: How many.
        seed: Of the draw and the order.

    Raises:
        ValueError: If the runs have several judges' scores, or `n` is too small for them.
    """
    judges = {judged_by(row) for _, row in runs.runs.iterrows()}
    if len(judges) > 1:
        raise ValueError(
            f"the logs have scores of several judges: {', '.join(sorted(judges))}. Choose one with "
            "--judge and --judge-prompt"
        )
    runs = replace(runs, runs=one_run_each(labelled(runs.runs, "mitigation"), runs.notes))
    samples = with_stratum(runs)
    sizes = {str(s): int(size) for s, size in samples.groupby("stratum").size().items()}
    # The same draw, in whatever order logs and samples were written.
    samples = samples.sort_values([*STRATUM, "id", "epoch"])
    # One epoch of a prompt at most: labels are taken as independent.
    samples = samples.sample(frac=1.0, random_state=seed).drop_duplicates(["run", "id"])
    drawable = {str(s): int(size) for s, size in samples.groupby("stratum").size().items()}
    numbers = _allocate(drawable, n)
    parts = [
        _drawn(samples[samples["stratum"] == stratum], number, seed)
        for stratum, number in numbers.items()
    ]
    rows = pd.concat(parts).assign(drawn_by=judges.pop())
    rows = rows.sort_values([*STRATUM, "id", "epoch"]).sample(frac=1.0, random_state=seed)
    return Drawn(rows.reset_index(drop=True), _strata(samples, sizes, numbers))


def with_stratum(runs: Runs) -> pd.DataFrame:
    """Samples with a verdict, the `file`, `arm` and `group` of each, and its `stratum`.

    A stratum is a run and whether the judge said refused or answered.
    """
    named = labelled(runs.runs, "mitigation")
    columns = ["run", "model", "prompt_set", "wanted", "group", "arm"]
    frame = runs.samples.merge(named[columns], on="run")
    frame = frame[frame["model_only"].notna()].copy()
    frame["verdict"] = frame["deployed"].map({1.0: "refused", 0.0: "answered"})
    frame["stratum"] = frame["run"].map(str) + " " + frame["verdict"]
    return frame


def _strata(samples: pd.DataFrame, sizes: dict[str, int], numbers: dict[str, int]) -> pd.DataFrame:
    first = samples.groupby("stratum").first()
    return pd.DataFrame(
        [
            {
                **first.loc[stratum][STRATUM],
                "size": sizes[stratum],
                "drawn": number,
                "weight": sizes[stratum] / number,
            }
            for stratum, number in numbers.items()
        ]
    )


def write_sheets(drawn: Drawn, file: Path, second: Path | None = None) -> None:
    """Write the sheet to label, and the same rows in another order for a second person.

    Args:
        drawn: From `draw`.
        file: The csv file.
        second: The second person's.

    Raises:
        ValueError: If a file is there already: it may hold labels.
    """
    if second is not None and second.absolute() == file.absolute():
        raise ValueError(f"{file}: both sheets have this name; the second person needs another")
    for path in filter(None, (file, second)):
        if path.exists():
            raise ValueError(f"{path}: is there already, and may hold labels; name another file")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"{path}: there is no folder {path.absolute().parent}")
    texts = shown_texts(drawn.rows)
    shown = [_cells(row, texts[row["uuid"]], len(drawn.rows)) for _, row in drawn.rows.iterrows()]
    _write(file, shown)
    if second is not None:
        _write(second, Random(str(second)).sample(shown, len(shown)))


def shown_texts(samples: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Prompt and response of samples by uuid, as a person is shown them.

    Args:
        samples: Rows with `file`, `id`, `epoch` and `uuid`.
    """
    texts: dict[str, tuple[str, str]] = {}
    for file, mine in samples.groupby("file"):
        read = read_samples(str(file), zip(mine["id"], mine["epoch"], strict=True))
        texts |= dict(zip(mine["uuid"], map(_prompt_and_response, read), strict=True))
    return texts


def _prompt_and_response(sample: EvalSample) -> tuple[str, str]:
    asked = sample.input
    prompt = asked if isinstance(asked, str) else next(m.text for m in asked if m.role == "user")
    return safe_cell(prompt), safe_cell(read_response(sample.output).text)


def _cells(row: "pd.Series[Any]", texts: tuple[str, str], number: int) -> dict[str, str]:
    return {
        "row": row["uuid"],
        "prompt": texts[0],
        "response": texts[1],
        "label": "",
        "comment": "",
        "drawn_by": row["drawn_by"],
        "drawn": str(number),
    }


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def _allocate(sizes: dict[str, int], n: int) -> dict[str, int]:
    """How many of each stratum: equal numbers for runs, by square root within."""
    by_run: dict[str, dict[str, int]] = {}
    for stratum, size in sizes.items():
        by_run.setdefault(stratum.split()[0], {})[stratum] = size
    least = len(by_run) * max(map(len, by_run.values()))
    if n < least:
        raise ValueError(
            f"-n {n} is too few: for {len(by_run)} arms and sets it takes {least}, to have one of "
            f"each verdict, and {FEWEST * least} to correct by"
        )
    numbers: dict[str, int] = {}
    for index, strata in enumerate(by_run.values()):
        share = n // len(by_run) + (index < n % len(by_run))
        numbers |= within_run(strata, share)
    return numbers


def within_run(strata: dict[str, int], share: int) -> dict[str, int]:
    """How many labels of each stratum of one run.

    By the square root of its size, and at least 5, or half of what there is to share.
    """
    larger, *smaller = sorted(strata, key=lambda stratum: (-strata[stratum], stratum))
    given = {}
    if smaller:
        total = sum(sqrt(size) for size in strata.values())
        fair = round(share * sqrt(strata[smaller[0]]) / total)
        given[smaller[0]] = min(strata[smaller[0]], max(min(FEWEST, share // 2), fair))
    rest = share - sum(given.values())
    return {name: k for name, k in {larger: min(strata[larger], rest), **given}.items() if k}


def _drawn(stratum: pd.DataFrame, number: int, seed: int) -> pd.DataFrame:
    named = sha256(repr((seed, *stratum[STRATUM].iloc[0])).encode()).hexdigest()
    return stratum.sort_values(["id", "epoch"]).sample(number, random_state=int(named[:8], 16))
