"""What is paid, as Inspect tells it call by call."""

from inspect_ai.event import ModelEvent
from inspect_ai.hooks import (
    Hooks,
    ModelUsageData,
    RunEnd,
    SampleAttemptEnd,
    SampleEnd,
    SampleEvent,
    hooks,
)

from orbench_inspect.budget.spending import spending


@hooks(name="budget", description="adds up what the study costs")
class Payments(Hooks):
    """Notes what is paid, and which samples end, while a budget holds."""

    def enabled(self) -> bool:
        """Only while a budget holds: Inspect names enabled hooks at each start."""
        return spending() is not None

    async def on_model_usage(self, data: ModelUsageData) -> None:
        """Count a call."""
        if not (paying := spending()):
            return
        if data.usage.total_cost is None:
            paying.uncountable = ValueError(
                f"{data.model_name} was asked and has no price, so the budget cannot hold: name "
                "it in --model-cost-config FILE"
            )
        else:
            paying.ledger.own.dollars += data.usage.total_cost

    async def on_sample_event(self, data: SampleEvent) -> None:
        """Look for a call that does not tell what it used."""
        call, paying = data.event, spending()
        if not paying or not isinstance(call, ModelEvent) or call.model in paying.free:
            return
        if call.output.usage is None and call.error is None and call.cache != "read":
            paying.uncountable = ValueError(
                f"{call.model} does not tell how many tokens a call used, so the budget cannot "
                "hold: run it without one"
            )

    async def on_sample_attempt_end(self, data: SampleAttemptEnd) -> None:
        """A sample that failed and will be tried again is not open meanwhile."""
        if paying := spending():
            paying.close((data.eval_id, data.summary.id, data.summary.epoch))

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Note what a sample has cost; one that failed before it cost anything tells nothing."""
        if paying := spending():
            one = data.sample
            cost = sum(usage.total_cost or 0.0 for usage in one.model_usage.values())
            told = None if one.error and not cost else cost
            paying.close((data.eval_id, one.id, one.epoch), told)

    async def on_run_end(self, data: RunEnd) -> None:
        """Nothing is open between runs, however they ended."""
        if paying := spending():
            paying.open.clear()
            paying.ledger.own.open = 0
