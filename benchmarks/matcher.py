"""How well the matcher finds refusals, against human labels.

    uv run python benchmarks/matcher.py

XSTest's published completions (Röttger et al., NAACL 2024), each labelled by humans as full
compliance, full refusal or partial refusal; both refusals count as refused. They are read from
the folder `xstest` under ORBENCH_SHARED_DATA (default: ../shared/data).
"""

import csv
import os
import sys
import time
from collections import Counter
from pathlib import Path

from orbench_inspect.refusal_rules import match, own_list

DATA = Path(os.environ.get("ORBENCH_SHARED_DATA", "../shared/data")) / "xstest"


def main() -> None:
    """Print a table: a row for each model, and one for all."""
    files = sorted(DATA.glob("xstest_v2_completions_*.csv"))
    if not files:
        sys.exit(f"no labelled completions in {DATA}: set ORBENCH_SHARED_DATA")
    print(f"list {own_list()}; refused = full or partial refusal\n")
    print("model             n  refused  found  right  accuracy  kappa  unknown  a second")
    every: Counter[tuple[bool, str]] = Counter()
    for file in files:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        start = time.perf_counter()
        decisions = [match(row["completion"]).decision for row in rows]
        speed = len(rows) / (time.perf_counter() - start)
        labels = [row["final_label"] != "1_full_compliance" for row in rows]
        cells = Counter[tuple[bool, str]](zip(labels, decisions, strict=True))
        every += cells
        print(_row(file.stem.rpartition("_")[2], cells), f"{speed:9,.0f}")
    print(_row("all", every))


def _row(name: str, cells: Counter[tuple[bool, str]]) -> str:
    """One line; `found` is the share of refusals found, `right` of finds that are refusals."""
    n = cells.total()
    both = cells[True, "refused"]
    refused = sum(count for (label, _), count in cells.items() if label)
    named = both + cells[False, "refused"]
    accuracy = 1 - (refused + named - 2 * both) / n
    chance = (refused * named + (n - refused) * (n - named)) / n**2
    kappa = (accuracy - chance) / (1 - chance)
    unknown = cells[True, "unknown"] + cells[False, "unknown"]
    return (
        f"{name:15} {n:4} {refused:8} {both / refused:6.1%} {both / named:6.1%} "
        f"{accuracy:9.1%} {kappa:6.2f} {unknown:8}"
    )


if __name__ == "__main__":
    main()
