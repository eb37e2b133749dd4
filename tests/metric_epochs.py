"""Metrics as a run gives them their scores: epoch by epoch, through the epochs' reducer."""

from collections.abc import Sequence
from typing import Any

from inspect_ai import Epochs, Task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Metric, Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from tests.runs import metrics, run


def measured(
    of: list[Metric],
    *epochs: list[Score],
    metadata: Sequence[dict[str, Any]] | None = None,
    reducer: str = "mean",
) -> dict[str, float]:
    """The values of metrics in the log of a run.

    Args:
        of: The metrics.
        *epochs: For each prompt, its score in each epoch.
        metadata: Of each prompt.
        reducer: How a prompt's epochs become one score.
    """
    task = Task(
        dataset=[
            Sample("-", id=number, metadata=metadata[number] if metadata else None)
            for number in range(len(epochs))
        ],
        solver=_nothing(),
        scorer=_scores(epochs),
        metrics=[*of],
        epochs=Epochs(len(epochs[0]), reducer),
    )
    return metrics(run(task, "none/none"), "_scores")


@solver
def _nothing() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return state

    return solve


@scorer(metrics=[])
def _scores(epochs: Sequence[list[Score]]) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return epochs[int(state.sample_id)][state.epoch - 1].model_copy(deep=True)

    return score
