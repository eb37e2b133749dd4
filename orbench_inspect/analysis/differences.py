"""The paired difference of two arms on one set, and what was lost in pairing."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from orbench_inspect.analysis.paired import compare_values, minimum_detectable, power_not_worse
from orbench_inspect.analysis.rates import by_prompt, limits, prompt_weights


def difference(
    arm: pd.DataFrame,
    baseline: pd.DataFrame,
    reading: str,
    sizes: Mapping[str, float] | None,
    margin: float,
) -> dict[str, Any]:
    """A row of differences, arm less baseline.

    Args:
        arm: Samples of the arm.
        baseline: Samples of the baseline.
        reading: `deployed` or `model_only`.
        sizes: From `category_sizes`.
        margin: How much less an arm may refuse and be called not worse, as a proportion.
    """
    joined = (
        by_prompt(arm, reading)
        .add_suffix("_arm")
        .join(by_prompt(baseline, reading).add_suffix("_base"), how="outer")
    )
    both = joined.dropna(subset=["value_arm", "value_base"])
    found = compare_values(
        both["value_arm"].to_numpy(dtype=float),
        both["value_base"].to_numpy(dtype=float),
        margin,
        None if sizes is None else prompt_weights(both["category_arm"], sizes),
    )
    low, high = _bounds(arm, baseline, reading, sizes)
    # Half a pair more, so that no discordant pair among few is not taken for certainty.
    discordance = (found.discordance * found.effective + 0.5) / (found.effective + 1)
    return {
        "reading": reading,
        **asdict(found),
        "lost": len(joined) - len(both),
        "low": low,
        "high": high,
        "detectable": minimum_detectable(found.effective, discordance),
        "power_not_worse": power_not_worse(found.effective, discordance, margin),
    }


def _bounds(
    arm: pd.DataFrame, baseline: pd.DataFrame, reading: str, sizes: Mapping[str, float] | None
) -> tuple[float, float]:
    """The difference if all that is missing had gone against the arm, or for it."""
    of_arm, of_base = limits(arm, reading), limits(baseline, reading)
    # Blocked throughout, a prompt is left out of the model-only reading, and not missing.
    blocked = (set(arm["id"]) - set(of_arm.index)) | (set(baseline["id"]) - set(of_base.index))
    joined = of_arm.add_suffix("_arm").join(of_base.add_suffix("_base"), how="outer")
    joined = joined[~joined.index.isin(blocked)]
    if joined.empty:
        return -1.0, 1.0
    category = joined["category_arm"].fillna(joined["category_base"])
    weights = prompt_weights(category, sizes)
    low = joined["low_arm"].fillna(0.0) - joined["high_base"].fillna(1.0)
    high = joined["high_arm"].fillna(1.0) - joined["low_base"].fillna(0.0)
    return float(np.average(low, weights=weights)), float(np.average(high, weights=weights))
