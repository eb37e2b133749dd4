"""How many prompts buy what: the difference a study could see, its power, and its dollars."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from inspect_ai.model import ModelCost

from orbench_inspect.analysis.paired import minimum_detectable, power_not_worse
from orbench_inspect.studies.pilot import Discordance, Pilot
from orbench_inspect.studies.plan import Assumed, plan_calls
from orbench_inspect.studies.planned import Planned, on_prompts

_SIZES = (100, 200, 500)


def buys(
    tasks: Sequence[Planned],
    assumed: Assumed,
    prices: Mapping[str, ModelCost],
    pilot: Pilot | None = None,
) -> pd.DataFrame:
    """What 100, 200, 500, the planned number and all prompts of each set would buy.

    Args:
        tasks: From `planned`.
        assumed: What to take for granted.
        prices: Dollars per million tokens, by model.
        pilot: What was seen in place of what is assumed.

    Returns:
        A row for each number and prompt set: `n`, `prompts` (fewer where the set has no more),
        `planned` (whether the script asks so many), `pairs` (prompts scored in both arms),
        `discordance` and its `source`, `detectable` (the smallest true difference that one arm's
        test finds with 80% power), `power_not_worse` (power to show that an arm is not worse by
        the margin if nothing differs), and, as the script scores, `cost_arm` (the mean arm) and
        `cost` in dollars, nan without a price.
    """
    asked = _asked(tasks)
    largest = max(task.population for task in tasks)
    sizes = sorted({n for n in (*_SIZES, *asked.values()) if n < largest} | {largest})
    rows: list[dict[str, Any]] = []
    for n in sizes:
        changed = on_prompts(tasks, n)
        calls = plan_calls(changed, assumed, prices, pilot)
        calls = calls[calls["runs"]]
        for name, of_set in calls.groupby("prompt_set", sort=False):
            of_tasks = [task for task in tasks if task.prompt_set == name]
            found = _discordance(str(name), assumed, pilot)
            prompts = min(n, of_tasks[0].population)
            pairs = prompts * found.paired
            arms = of_set.groupby(["model", "arm"]).ngroups
            cost = float(of_set["cost"].sum(skipna=False))
            rows.append(
                {
                    "n": n,
                    "prompt_set": name,
                    "wanted": of_tasks[0].wanted,
                    "prompts": prompts,
                    "planned": n == asked[str(name)],
                    "pairs": pairs,
                    "discordance": found.share,
                    "source": found.source,
                    "detectable": minimum_detectable(pairs, found.share),
                    "power_not_worse": power_not_worse(pairs, found.share, assumed.margin),
                    "arms": arms,
                    "cost_arm": cost / arms,
                    "cost": cost,
                }
            )
    return pd.DataFrame(rows)


def _asked(tasks: Sequence[Planned]) -> dict[str, int]:
    """Prompts that the script asks of each set, in each arm."""
    sums: dict[tuple[str, str, str], int] = {}
    for task in tasks:
        place = (task.prompt_set, task.captured.model, task.arm)
        sums[place] = sums.get(place, 0) + task.captured.samples
    return {name: max(n for key, n in sums.items() if key[0] == name) for name, *_ in sums}


def _discordance(name: str, assumed: Assumed, pilot: Pilot | None) -> Discordance:
    seen = pilot.discordance.get(name) if pilot else None
    return seen or Discordance(assumed.discordance, 1.0, "assumed")
