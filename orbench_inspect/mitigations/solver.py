"""The solver `mitigation`: asks a prompt under a mitigation."""

from typing import get_args

import click
from inspect_ai.solver import Generate, Solver, TaskState, solver

from orbench_inspect.mitigations.asking import Ask
from orbench_inspect.mitigations.composed import SystemAs, compose
from orbench_inspect.mitigations.response_check import response_check
from orbench_inspect.mitigations.route import route
from orbench_inspect.mitigations.smooth import smooth
from orbench_inspect.usage import rejoined, usage_errors

_METHODS = {"route": route, "response_check": response_check, "smooth": smooth}


@solver
def mitigation(
    name: str = "none",
    system_prompt: str | None = None,
    system_as: SystemAs = "system",
    replicate: int = 1,
) -> Solver:
    """Ask under a mitigation, on top of the product's own system prompt, and generate.

    Works on any task: `--solver orbench_inspect/mitigation -S name=self_reminder`.

    Args:
        name: Name or file of the mitigation.
        system_prompt: File with the product's own system prompt.
        system_as: `system`, or `user` for models that take no system message.
        replicate: Which independent repetition of the arm this is; from the second on, no
            response is taken from a cache.
    """
    if system_as not in get_args(SystemAs):
        raise click.UsageError(f"system_as={system_as}: must be one of {get_args(SystemAs)}")
    with usage_errors():
        file = None if system_prompt is None else str(rejoined(system_prompt))
        composed = compose(str(rejoined(name)), file, system_as)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        ask = Ask(state, generate, cached=replicate == 1)
        method = _METHODS.get(composed.mitigation.method)
        if method is not None:
            return await method(composed, state, ask)
        return ask.answered(await ask(composed.onto(state.messages)))

    return solve
