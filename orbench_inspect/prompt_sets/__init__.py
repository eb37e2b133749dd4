"""First stop: what is asked. Prompt sets, where they are read from, and which prompts of them."""

from orbench_inspect.prompt_sets.custom import custom_prompts
from orbench_inspect.prompt_sets.records import (
    BUNDLED,
    FULL,
    HARD,
    OR_BENCH,
    TOXIC,
    Prompt,
    Prompts,
    PromptSet,
    Wanted,
)
from orbench_inspect.prompt_sets.selection import Selection, select
from orbench_inspect.prompt_sets.sources import check_folder, load_prompts

__all__ = [
    "BUNDLED",
    "FULL",
    "HARD",
    "OR_BENCH",
    "TOXIC",
    "Prompt",
    "PromptSet",
    "Prompts",
    "Selection",
    "Wanted",
    "check_folder",
    "custom_prompts",
    "load_prompts",
    "select",
]
