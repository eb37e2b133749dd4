"""Whether the budget can pay for one more sample.

While samples are open, what they will cost is held back: as many as fit are begun, the others
wait for them. Where not one more fits, those that are open end, and then the task stops with an
error: Inspect would take a task that was stopped early for a complete one, and never go on.

What a sample costs is told by those that have ended (the mean, in the dearest task). Until one
has, a process begins one at a time.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio
from inspect_ai.model import (
    Model,
    ModelCost,
    ModelInfo,
    get_model_info,
    model_roles,
    set_model_info,
)

from orbench_inspect.budget.ledger import Ledger
from orbench_inspect.budget.limit import VARIABLE, Budget, shown, spent_message, unpriced

_LOOK = 0.1
_LITTLE = 5
"""Times what is open: where no more is left, processes look at one another more often."""

Sample = tuple[str, str | int, int]
"""Id of an eval, and a sample's id and epoch."""


class BudgetSpentError(Exception):
    """Not one more sample can be paid for."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message  # the log tells it, where another error would show as Python has it


class Spending:
    """A budget while this process spends it."""

    def __init__(self, dollars: float, log_dir: str) -> None:
        self.dollars, self.ledger = dollars, Ledger(log_dir)
        self.uncountable: ValueError | None = None
        self.free: set[str] = set()
        self.open: set[Sample] = set()
        self.ended: dict[str, tuple[int, float]] = {}

    def check(self, models: Iterable[Model]) -> None:
        """Refuse models that have no price."""
        costs = {str(model): (get_model_info(model) or ModelInfo()).cost for model in models}
        if missing := sorted(name for name, cost in costs.items() if cost is None):
            raise ValueError(unpriced(missing))
        self.free |= {
            n for n, cost in costs.items() if cost and not any(cost.model_dump().values())
        }

    def forbidden(self) -> Exception | None:
        """Why no sample may be begun at all: nothing is left, or what is spent cannot be told."""
        if self.uncountable:
            return self.uncountable
        if broken := self.ledger.broken:
            return OSError(f"what is paid cannot be noted in {self.ledger.log_dir}: {broken}")
        if self.ledger.stopped >= self.dollars or not self._has_room(beside=0):
            return BudgetSpentError(spent_message(self.dollars, self.ledger))
        return None

    def _has_room(self, beside: int) -> bool:
        """Whether one more sample fits beside so many that are open."""
        if self.ledger.sample is None:
            return self.ledger.spent < self.dollars and not beside
        needed = self.ledger.spent + self.ledger.sample * (beside + 1)
        return needed <= self.dollars * (1 + 1e-9)

    def stop(self, why: Exception) -> None:
        """Raise why no sample may be begun; where nothing is left, other processes will know."""
        if isinstance(why, BudgetSpentError):
            self.ledger.own.stopped = self.dollars
        raise why

    async def admit(self, sample: Sample) -> None:
        """Wait until a sample fits beside what is open; raise where it cannot."""
        self.close(sample)  # one that is tried again
        while (why := self.forbidden()) or not self._has_room(self._open()):
            # An error that is raised cuts off the task's open samples, which are paid for.
            if why and all(run != sample[0] for run, *_ in self.open):
                self.stop(why)
            await anyio.sleep(_LOOK)
        self.open.add(sample)
        self.ledger.own.open = len(self.open)
        self.ledger.hurry = not self._has_room(_LITTLE * len(self.open))

    def _open(self) -> int:
        """Samples to hold back for: before costs are known each process minds its own."""
        return len(self.open) if self.ledger.sample is None else self.ledger.open

    def close(self, sample: Sample, cost: float | None = None) -> None:
        """Note that a sample has ended, and what it cost in all."""
        self.open.discard(sample)
        self.ledger.own.open = len(self.open)
        if cost is not None:
            n, dollars = self.ended.get(sample[0], (0, 0.0))
            self.ended[sample[0]] = n + 1, dollars + cost
            self.ledger.own.sample = max(dollars / n for n, dollars in self.ended.values())


_spending: Spending | None = None
_prices: dict[str, ModelCost] = {}


def spending() -> Spending | None:
    """The budget that holds, if one does."""
    return _spending


@contextmanager
def held(budget: Budget) -> Iterator[None]:
    """Have a budget hold, and its prices, for what is run inside.

    Inspect keeps a price once it is set, as it does those of its own `--model-cost-config`.

    Raises:
        ValueError: If another budget holds already.
    """
    global _spending, _prices
    mine = None
    if budget.dollars is not None:
        if _spending:
            raise ValueError(f"a budget of {shown(_spending.dollars)} holds already: give one only")
        # Not among the components that Inspect loads: it speaks of hooks that are not enabled.
        import orbench_inspect.budget.payments  # noqa: F401 (registers its hook)

        mine = Spending(budget.dollars, budget.log_dir)
        mine.ledger.begin()
    before = _spending, _prices
    _spending, _prices = mine or _spending, {**_prices, **budget.prices}
    try:
        yield
    finally:
        _spending, _prices = before
        if mine:
            mine.ledger.end()


@contextmanager
def held_from_environment() -> Iterator[None]:
    """Have the budget hold that a launch has told its worker, if it told one."""
    told = json.loads(os.environ.get(VARIABLE) or "null")
    if told is None:
        yield
        return
    prices = {name: ModelCost(**price) for name, price in told["prices"].items()}
    with held(Budget(told["dollars"], told["log_dir"], prices)):
        yield


def begin_run(run: str, model: Model) -> None:
    """Set the prices of a task's models, and see that the budget can pay for them.

    Args:
        run: Id of the eval.
        model: The evaluated model; those bound to roles are looked up.

    Raises:
        ValueError: If a budget holds, and a model has no price.
        BudgetSpentError: If nothing is left of it.
    """
    bound = model_roles().values()
    roles = [one for models in bound for one in (models if isinstance(models, list) else [models])]
    models = [one for one in (model, *roles) if not str(one).startswith("none/")]
    for one in models:
        if price := _prices.get(str(one)):
            info = get_model_info(one) or ModelInfo()
            set_model_info(str(one), info.model_copy(update={"cost": price}))
    if _spending:
        _spending.ledger.own.runs += (run,)
        _spending.check(models)
        if why := _spending.forbidden():
            _spending.stop(why)


async def begin_sample(run: str, id: str | int, epoch: int) -> None:
    """Wait until the budget can pay for a sample beside those that are open.

    The wait lasts as long as they do, for what is open is paid for and would be lost.

    Raises:
        BudgetSpentError: If it cannot.
        ValueError: If a call was made whose cost is not known.
    """
    if _spending:
        await _spending.admit((run, id, epoch))
