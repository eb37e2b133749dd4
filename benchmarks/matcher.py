"""How well the matcher finds refusals, against human labels, and how fast.

    uv run python benchmarks/matcher.py

XSTest's published completions (Röttger et al., NAACL 2024), each labelled by humans as full
compliance, full refusal or partial refusal; both refusals count as refused. They are read from
the folder `xstest` under ORBENCH_SHARED_DATA (default: ../shared/data). The rules were written
with the responses to six prompts in ten in view; `held out` is what they reach on the others.
"""

import csv
import os
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from orbench_inspect.refusal_rules import Match, match, own_list

DATA = Path(os.environ.get("ORBENCH_SHARED_DATA", "../shared/data")) / "xstest"
PASSES = 5


@dataclass(frozen=True)
class Row:
    """One response, its label and what the matcher says of it."""

    model: str
    prompt: str
    response: str
    refused: bool
    found: Match

    @property
    def held_out(self) -> bool:
        """Whether the rules were written without a look at the responses to this prompt."""
        return int(sha256(self.prompt.encode()).hexdigest(), 16) % 10 >= 6


def main() -> None:
    """Print a table: a row for each model, for all, and for the prompts held out."""
    rows = _read()
    models = dict.fromkeys(row.model for row in rows)
    parts = {model: [row for row in rows if row.model == model] for model in models}
    parts |= {"all": rows, "all, held out": [row for row in rows if row.held_out]}
    print(f"list {own_list()}; refused = full or partial refusal; unknown counts as not refused\n")
    print(
        "model               n  refused  accuracy  precision  recall    F1  kappa"
        "  certain  of these wrong  unknown"
    )
    for name, part in parts.items():
        print(_line(name, part))
    print(f"\n{_speed([row.response for row in rows]):,.0f} responses a second on one core")


def _read() -> list[Row]:
    files = sorted(DATA.glob("xstest_v2_completions_*.csv"))
    if not files:
        sys.exit(f"no labelled completions in {DATA}: set ORBENCH_SHARED_DATA")
    rows = []
    for file in files:
        model = file.stem.rpartition("_")[2]
        with file.open(encoding="utf-8", newline="") as stream:
            for record in csv.DictReader(stream):
                refused = record["final_label"] != "1_full_compliance"
                response = record["completion"]
                rows.append(Row(model, record["prompt"], response, refused, match(response)))
    return rows


def _line(name: str, rows: list[Row]) -> str:
    n = len(rows)
    refused = sum(row.refused for row in rows)
    named = sum(row.found.decision == "refused" for row in rows)
    both = sum(row.refused and row.found.decision == "refused" for row in rows)
    accuracy = 1 - (refused + named - 2 * both) / n
    chance = (refused * named + (n - refused) * (n - named)) / n**2
    kappa = (accuracy - chance) / (1 - chance)
    certain = [row for row in rows if row.found.certain]
    wrong = sum(row.refused != (row.found.decision == "refused") for row in certain)
    unknown = sum(row.found.decision == "unknown" for row in rows)
    return (
        f"{name:16} {n:4} {refused:8} {accuracy:9.1%} {both / named:10.1%} {both / refused:7.1%} "
        f"{2 * both / (named + refused):5.2f} {kappa:6.2f} {len(certain) / n:8.1%} "
        f"{wrong:4} = {wrong / len(certain):6.2%} {unknown:9}"
    )


def _speed(responses: list[str]) -> float:
    """Responses a second of processor time: the best of some passes."""
    times = []
    for _ in range(PASSES):
        start = time.process_time()
        for response in responses:
            match(response)
        times.append(time.process_time() - start)
    return len(responses) / min(times)


if __name__ == "__main__":
    main()
