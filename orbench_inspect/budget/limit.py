"""A budget as a person gives it: dollars, the study's log directory, and prices."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelCost, get_model_info

from orbench_inspect.budget.ledger import Ledger

VARIABLE = "ORBENCH_BUDGET"
"""The variable under which a launch tells its workers the budget and the prices."""

SPENT = "budget of "
"""How it begins what a task stops with because the budget is spent."""


@dataclass(frozen=True)
class Budget:
    """What a study may cost, and at which prices."""

    dollars: float | None
    """None where only prices are known."""
    log_dir: str
    prices: Mapping[str, ModelCost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dollars is not None and not self.dollars > 0:
            raise ValueError(f"a budget is more than 0 dollars; this one is {self.dollars}")

    def check(self, models: Collection[str]) -> None:
        """Refuse models that have no price, where there is a budget."""
        if self.dollars is None:
            return
        missing = sorted(name for name in models if not self._priced(name))
        if missing:
            raise ValueError(unpriced(missing))

    def _priced(self, model: str) -> bool:
        known = get_model_info(model)
        return model in self.prices or bool(known and known.cost) or model.startswith("none/")

    def environment(self) -> dict[str, str]:
        """What tells it to the process of a worker; empty where there is nothing to tell."""
        if self.dollars is None and not self.prices:
            return {}
        prices = {name: price.model_dump() for name, price in self.prices.items()}
        told = {"dollars": self.dollars, "log_dir": self.log_dir, "prices": prices}
        return {VARIABLE: json.dumps(told)}

    def is_spent(self) -> bool:
        """Whether the study has stopped at it, or has cost as much; looked up anew."""
        if self.dollars is None:
            return False
        ledger = self._read()
        return max(ledger.spent, ledger.stopped) >= self.dollars

    def told(self) -> str:
        """The end of a line about progress: dollars spent, looked up anew. Empty without one."""
        if self.dollars is None:
            return ""
        return f", {shown(self._read().spent)} of {shown(self.dollars)}"

    def how_it_ended(self) -> str:
        """That it is spent, and how to go on."""
        return spent_message(self.dollars or 0.0, self._read())

    def uncounted(self) -> str:
        """What to tell of logs that were made without a budget; empty where there are none."""
        if self.dollars is None:
            return ""
        counted, found = self._read().runs, 0
        for info in list_eval_logs(self.log_dir):
            try:
                found += read_eval_log(info, header_only=True).eval.eval_id not in counted
            except Exception:  # what was cut before its header was written
                found += 1
        told = f"{found} logs in {self.log_dir} were made without --budget: what they have cost is"
        return f"{told} not counted" if found else ""

    def _read(self) -> Ledger:
        ledger = Ledger(self.log_dir)
        ledger.read()
        return ledger


def unpriced(models: Sequence[str]) -> str:
    """Say that a budget lacks prices."""
    return (
        f"a budget needs prices, and none is known of {', '.join(models)}: name them in "
        "--model-cost-config FILE (evals/prices.yaml is a template), 0 where nothing is charged"
    )


def spent_message(dollars: float, ledger: Ledger) -> str:
    """Say that a budget is spent, and how to go on."""
    return (
        f"{SPENT}{shown(dollars)} spent ({shown(ledger.spent)} so far, in {ledger.log_dir}): "
        "the same command with a higher --budget goes on"
    )


def shown(dollars: float) -> str:
    """Dollars as a person reads them."""
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"
