"""A human audit of moderation: prompts of a set drawn, labelled, and held against decisions."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from orbench_inspect.construction.agreement import decision_of
from orbench_inspect.construction.product import TRAIL
from orbench_inspect.scoring.agreement import Stratum, agree
from orbench_inspect.spreadsheets import safe_cell, same_cell
from orbench_inspect.tables import read_table

ENSEMBLE = "ensemble"
COLUMNS = ("prompt_id", "prompt", "label", "comment", "drawn")

_DECISIONS = ("safe", "toxic", "undecided")


def trail_of(source: str) -> Path | None:
    """The trail that a directory or path names; None if it is no constructed set."""
    path = Path(source)
    trail = path / TRAIL if path.is_dir() else path
    return trail if trail.name == TRAIL and trail.is_file() else None


def draw_audit(trail: Path, n: int, seed: int, sheet: Path) -> pd.DataFrame:
    """Draw prompts to label `safe` or `toxic`, as many of each decision, and write the sheet.

    Args:
        trail: The set's `trail.parquet`.
        n: How many.
        seed: Of the draw and the order.
        sheet: The csv file; it shows neither decision nor votes.

    Returns:
        One row a decision: `decision`, `size`, `drawn`.

    Raises:
        ValueError: If the sheet is there already: it may hold labels.
    """
    if sheet.exists():
        raise ValueError(f"{sheet}: is there already, and may hold labels; name another file")
    frame = pd.read_parquet(trail, columns=["prompt_id", "prompt", "decision"])
    sizes = frame["decision"].value_counts()
    left, told, parts = n, [], []
    found = [d for d in sorted(_DECISIONS, key=lambda d: int(sizes.get(d, 0))) if d in sizes]
    for index, decision in enumerate(found):
        number = min(int(sizes[decision]), left // (len(found) - index))
        left -= number
        told.append({"decision": decision, "size": int(sizes[decision]), "drawn": number})
        rows = frame[frame["decision"] == decision].sort_values("prompt_id")
        parts.append(rows.sample(number, random_state=seed))
    drawn = pd.concat(parts).sample(frac=1.0, random_state=seed)
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for _, row in drawn.iterrows():
            writer.writerow([row["prompt_id"], safe_cell(row["prompt"]), "", "", len(drawn)])
    return pd.DataFrame(told)


def audit_table(trail: Path, sheet: Path) -> pd.DataFrame:
    """Hold the ensemble's decisions, and each moderator's votes, against a person's labels.

    As in the paper's Table 1, toxic is what is to be found. Prompts were drawn by decision, and
    are weighted back to the set.

    Args:
        trail: The set's `trail.parquet`.
        sheet: The labelled sheet: columns `prompt_id` and `label`, `safe` or `toxic`; without a
            label a row is left out. With a column `prompt`, its text must be the set's.

    Returns:
        One row a rater: `rater`, `n`, `undecided`, and with `_lower` and `_upper`
        `toxic_found` (the paper's true positives), `safe_found` (its true negatives),
        `accuracy` and `kappa`.

    Raises:
        ValueError: If a label is neither, or a prompt is not of the set or was edited.
    """
    frame = pd.read_parquet(trail, columns=["prompt_id", "prompt", "decision", "votes"])
    sizes = frame["decision"].value_counts()
    labels = _labels(sheet, frame.set_index("prompt_id")["prompt"].to_dict())
    rows = frame[frame["prompt_id"].isin(labels)].copy()
    rows["human"] = rows["prompt_id"].map(labels)
    rows["weight"] = rows["decision"].map(sizes / rows["decision"].value_counts())
    said = {ENSEMBLE: rows["decision"], **dict(_votes(rows))}
    return pd.DataFrame([_measured(name, of, rows) for name, of in said.items()])


def _measured(name: str, said: "pd.Series[str]", rows: pd.DataFrame) -> dict[str, Any]:
    decided = rows.assign(said=said)[said != "undecided"]
    strata = [
        Stratum.weighted(
            list(zip(of["human"] == "toxic", of["said"] == "toxic", strict=True)),
            of["weight"].tolist(),
            bool(of["said"].iloc[0] == "toxic") if name == ENSEMBLE else None,
        )
        for _, of in decided.groupby("decision", sort=True)
    ]
    found = agree(strata)
    told: dict[str, Any] = {
        "rater": name,
        "n": len(decided),
        "undecided": len(rows) - len(decided),
    }
    for measure, shown in _SHOWN.items():
        value, lower, upper = found[measure]
        told |= {shown: value, f"{shown}_lower": lower, f"{shown}_upper": upper}
    return told


_SHOWN = {
    "sensitivity": "toxic_found",
    "specificity": "safe_found",
    "accuracy": "accuracy",
    "kappa": "kappa",
}


def _votes(rows: pd.DataFrame) -> Iterator[tuple[str, "pd.Series[str]"]]:
    """What each moderator alone would have decided, by chair: one model may sit on several."""
    cast = rows["votes"].map(lambda text: json.loads(text) if text else [])
    chairs = max(map(len, cast), default=0)
    for chair in range(chairs):
        models = [votes[chair].get("model") for votes in cast if len(votes) > chair]
        name = f"{chair + 1}: {models[0]}"
        yield (
            name,
            cast.map(
                lambda votes, chair=chair: (
                    decision_of(votes[chair]["vote"]) if len(votes) > chair else "undecided"
                )
            ),
        )


def _labels(sheet: Path, prompts: dict[str, str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for place, cells in read_table(sheet, "prompt_id", spreadsheet=True):
        where, id = f"{sheet}, {place}", str(cells["prompt_id"])
        label = str(cells.get("label") or "").strip().lower()
        if not label:
            continue
        if label not in ("safe", "toxic"):
            raise ValueError(f"{where}: label '{label}' is neither safe nor toxic")
        if id not in prompts:
            raise ValueError(f"{where}: prompt {id} is not of this set; name its trail.parquet")
        if "prompt" in cells and not same_cell(safe_cell(prompts[id]), str(cells["prompt"])):
            raise ValueError(f"{where}: the prompt differs from the set's: it was edited")
        if labels.setdefault(id, label) != label:
            raise ValueError(f"{where}: prompt {id} is labelled both safe and toxic")
    if not labels:
        raise ValueError(f"{sheet}: no row has a label yet")
    return labels
