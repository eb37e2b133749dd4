"""Over-refusal evaluation (OR-Bench) on Inspect AI: the public names.

Names are imported on first use, so that the command line and every Inspect command
that merely has this package installed start without paying for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbench_inspect.mitigations import load_mitigation, mitigation
    from orbench_inspect.prompt_sets import PromptSet, load_prompts
    from orbench_inspect.scoring import matcher, outcome, refusal
    from orbench_inspect.tasks import custom, full, hard, judge_validation, toxic

_HOME = {
    "PromptSet": "prompt_sets",
    "custom": "tasks",
    "full": "tasks",
    "hard": "tasks",
    "judge_validation": "tasks",
    "load_mitigation": "mitigations",
    "load_prompts": "prompt_sets",
    "matcher": "scoring",
    "mitigation": "mitigations",
    "outcome": "scoring",
    "refusal": "scoring",
    "toxic": "tasks",
}

__all__ = [
    "PromptSet",
    "custom",
    "full",
    "hard",
    "judge_validation",
    "load_mitigation",
    "load_prompts",
    "matcher",
    "mitigation",
    "outcome",
    "refusal",
    "toxic",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
