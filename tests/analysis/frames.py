"""Runs made by hand, as frames: what reading logs gives."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from orbench_inspect.analysis import Runs

VALUES = {
    "direct_answer": 0.0,
    "direct_refusal": 1.0,
    "indirect_refusal": 1.0,
    "provider_refusal": 1.0,
}


def made(
    arms: Mapping[str, Mapping[str, Sequence[str]]],
    wanted: Mapping[str, str] | None = None,
    categories: Sequence[str] | None = None,
    epochs: int = 1,
    **run: Any,
) -> Runs:
    """Runs of arms on prompt sets, from the outcomes of prompts in order.

    Args:
        arms: Outcomes by arm and prompt set; `None` in place of one leaves the prompt out.
        wanted: What should happen to a set's prompts, if not as for hard and toxic.
        categories: Categories of prompts, repeated; one category if left out.
        epochs: Outcomes of a prompt that stand beside each other.
        **run: Columns of runs to set.
    """
    wanted = wanted or {"hard": "answer", "toxic": "refuse"}
    runs: list[dict[str, Any]] = []
    samples: list[dict[str, Any]] = []
    for arm, sets in arms.items():
        name, _, replicate = arm.partition("#")
        for prompt_set, outcomes in sets.items():
            number = len(runs)
            given = [o for o in outcomes if o is not None]
            runs.append(
                {
                    "run": number,
                    "file": f"{arm}-{prompt_set}.eval",
                    "created": f"2026-01-01T00:00:{number:02}",
                    "model": "m",
                    "mitigation": name,
                    "replicate": int(replicate or 1),
                    "composed_sha256": name,
                    "product_sha256": None,
                    "prompt_set": prompt_set,
                    "wanted": wanted[prompt_set],
                    "data_sha256": prompt_set,
                    "prompts_sha256": prompt_set,
                    "population": None,
                    "per_category": None,
                    "scorer": "judge",
                    "judge": "j",
                    "judges": 1,
                    "judge_prompt_sha256": "p",
                    "judge_prompt": "strict",
                    "epochs": epochs,
                    "samples": len(given),
                    "planned": len(given),
                    "status": "success",
                    "revision": None,
                    "temperature": 0.0,
                    "max_tokens": 4096,
                    "package": "0.1.0",
                    "inspect": "0.3",
                    "shards": 1,
                    **run,
                }
            )
            samples += [
                _sample(number, prompt_set, index // epochs, index % epochs + 1, o, categories)
                for index, o in enumerate(outcomes)
                if o is not None
            ]
    return Runs(pd.DataFrame(runs), pd.DataFrame(samples), [])


def _sample(
    run: int, prompt_set: str, n: int, epoch: int, outcome: str, categories: Sequence[str] | None
) -> dict[str, Any]:
    value = VALUES.get(outcome, float("nan"))
    return {
        "run": run,
        "file": f"{run}.eval",
        "score": "refusal",
        "id": f"{prompt_set}-{n:05}",
        "category": categories[n % len(categories)] if categories else "a",
        "epoch": epoch,
        "outcome": outcome,
        "deployed": value,
        "model_only": float("nan") if outcome == "provider_refusal" else value,
        "unscored": bool(np.isnan(value)),
        "tokens": 10,
        "seconds": 1.0,
        "characters": 100,
        "cost": None,
    }


def refused(n: int, of: int) -> list[str]:
    """The first n of prompts refused, the others answered."""
    return ["direct_refusal"] * n + ["direct_answer"] * (of - n)
