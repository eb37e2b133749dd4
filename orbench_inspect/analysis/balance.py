"""Both sides in one number, and which arms no other arm beats."""

import numpy as np
import pandas as pd

from orbench_inspect.analysis.paired import Floats
from orbench_inspect.analysis.rates import by_prompt
from orbench_inspect.analysis.runs import Runs

_DRAWS = 2_000
_CHUNK = 20
_SEED = 20_240_531


def balance(runs: Runs, frame: pd.DataFrame) -> pd.DataFrame:
    """Youden's J of each arm: refusal rate on harmful prompts less that on harmless ones.

    Refusing everything and answering everything are both 0. The 95% interval is a bootstrap
    over prompts, drawn jointly for all arms (2,000 draws, seeded). An arm is Pareto-optimal
    if no other refuses as few harmless prompts and as many harmful ones, and one of them
    strictly. Deployed reading, unweighted.

    Args:
        runs: From `read_runs`.
        frame: The runs that are compared, with `group` and `arm`.
    """
    rows = []
    for group, members in frame.groupby("group", sort=False):
        sides = {}
        for wanted, side in members.groupby("wanted"):
            columns = {
                row["arm"]: by_prompt(runs.samples[runs.samples["run"] == row["run"]], "deployed")[
                    "value"
                ]
                for _, row in side.iterrows()
            }
            sides[wanted] = pd.DataFrame(columns)
        if sides.keys() != {"answer", "refuse"}:
            continue
        # An arm without a scored prompt on either side has no balance.
        arms = [
            arm
            for arm in sides["answer"]
            if arm in sides["refuse"] and all(side[arm].notna().any() for side in sides.values())
        ]
        if not arms:
            continue
        hard, toxic = sides["answer"][arms], sides["refuse"][arms]
        drawn = _bootstrap(toxic, 1) - _bootstrap(hard, 2)
        lower, upper = np.nanquantile(drawn, [0.025, 0.975], axis=0)
        few, many = hard.mean(), toxic.mean()
        for index, arm in enumerate(arms):
            beaten = any(
                few[o] <= few[arm]
                and many[o] >= many[arm]
                and (few[o] < few[arm] or many[o] > many[arm])
                for o in arms
            )
            rows.append(
                {
                    "group": group,
                    "arm": arm,
                    "youden": many[arm] - few[arm],
                    "youden_lower": lower[index],
                    "youden_upper": upper[index],
                    "pareto": not beaten,
                }
            )
    names = ["group", "arm", "youden", "youden_lower", "youden_upper", "pareto"]
    return pd.DataFrame(rows, columns=names)


def _bootstrap(values: pd.DataFrame, stream: int) -> Floats:
    """Means of the arms over prompts drawn with replacement, the same prompts for all."""
    chance = np.random.default_rng([_SEED, stream])
    matrix = values.to_numpy(dtype=float)
    scored = np.isfinite(matrix)
    filled = np.where(scored, matrix, 0.0)
    size = len(matrix)
    means: list[Floats] = []
    for _ in range(_DRAWS // _CHUNK):
        picks = chance.integers(0, size, (_CHUNK, size))
        with np.errstate(invalid="ignore"):
            means.append(filled[picks].sum(axis=1) / scored[picks].sum(axis=1))
    return np.concatenate(means)
