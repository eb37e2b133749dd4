"""Results published with the paper: what a run is shown beside, and never tested against.

Where the numbers are from, and what they cannot be compared with: README.md beside this file.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CATEGORIES = (
    *("deception", "harassment", "harmful", "hate", "illegal"),
    *("privacy", "self-harm", "sexual", "unethical", "violence"),
)
"""The paper's categories in the order of its tables and radar charts."""

CURVE = (75.241, 0.46958, -0.0022456)
"""Figure 1's fit of degree 2: toxic refusal in percent, by powers of hard refusal in percent."""

WHY_APART = (
    "published: another judge and other instructions; "
    "hollow marks were scored on earlier prompts (1,534 hard, 681 toxic) that were never released"
)

_HARD_SELECTORS = frozenset(
    {
        *("GPT-3.5-turbo-0125", "Llama-2-70b", "Llama-3-70b"),
        *("Claude-3-opus", "Qwen-1.5-72B", "Gemini-1.5-pro-latest"),
    }
)


@dataclass(frozen=True)
class Published:
    """What the paper printed of one model; rates in percent, refused of all prompts."""

    model: str
    family: str
    hard: float
    toxic: float
    full: float | None
    """Refused of the full set, by keyword lists; None where it was not run."""
    hard_prompts: int
    """Hard prompts it was scored on, inferred from the decimals: 1,534 or 1,319."""
    toxic_prompts: int
    moderated: bool
    """Whether it was one of the moderators that sorted safe prompts from toxic ones."""
    selected: bool
    """Whether its refusals selected the hard prompts."""
    hard_by_category: Mapping[str, float]
    toxic_by_category: Mapping[str, float]
    full_by_category: Mapping[str, float]
    """Empty where the full set was not run."""

    @property
    def early(self) -> bool:
        """Whether it was scored on the earlier prompts, which were never released."""
        return self.hard_prompts != 1319

    @property
    def role(self) -> str:
        """How it served to make the sets, in words; empty if it did not."""
        parts = {"moderated": self.moderated, "selected hard prompts": self.selected}
        return " and ".join(part for part, served in parts.items() if served)


@cache
def published() -> tuple[Published, ...]:
    """The paper's 32 models, from the least refusal of hard prompts to the most."""
    hard, toxic = _table("table2_hard_rejection_pct"), _table("table6_toxic_acceptance_pct")
    full = _table("table7_80k_rejection_pct")
    return tuple(
        Published(
            model=model,
            family=row["family"],
            hard=float(row["hard_rejection_pct"]),
            toxic=float(row["toxic_rejection_pct"]),
            full=float(full[model]["overall"]) if model in full else None,
            hard_prompts=int(hard[model]["eval_set_size_inferred"]),
            toxic_prompts=int(toxic[model]["eval_set_size_inferred"]),
            moderated=row["used_as_moderator"] == "yes",
            selected=model in _HARD_SELECTORS,
            hard_by_category=dict(_cells(hard[model])),
            toxic_by_category={name: 100 - cell for name, cell in _cells(toxic[model])},
            full_by_category=dict(_cells(full[model])) if model in full else {},
        )
        for model, row in _table("figure1_points").items()
    )


def published_model(name: str) -> Published:
    """One of the paper's models, by its name there in any case of letters.

    Raises:
        ValueError: If the paper has no such model, naming those it has.
    """
    for model in published():
        if model.model.lower() == name.lower():
            return model
    known = ", ".join(sorted(model.model for model in published()))
    raise ValueError(f"no published results of '{name}'; there are those of: {known}")


def _table(name: str) -> dict[str, dict[str, str]]:
    path = Path(__file__).parent / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def _cells(row: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    return ((name, float(row[name.replace("-", "_")])) for name in CATEGORIES)
