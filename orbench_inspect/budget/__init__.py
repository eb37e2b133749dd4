"""A budget of dollars for a whole study: every task, process and earlier attempt.

`limit` is what a person gives, `ledger` the record of what was paid, `payments` fills it, and the
preflight of our tasks asks `spending` before each sample.
"""

from orbench_inspect.budget.limit import SPENT, Budget
from orbench_inspect.budget.spending import (
    BudgetSpentError,
    begin_run,
    begin_sample,
    held,
    held_from_environment,
)

__all__ = [
    "SPENT",
    "Budget",
    "BudgetSpentError",
    "begin_run",
    "begin_sample",
    "held",
    "held_from_environment",
]
