"""Seeded draws of prompts, stratified over categories."""

from collections.abc import Mapping

from orbench_inspect.prompt_sets import Prompt, Prompts, select


def draw(
    categories: Mapping[str, str],
    seed: int,
    *,
    per_category: int | None = None,
    size: int | None = None,
) -> set[str]:
    """Draw ids by seed, stratified over categories.

    Args:
        categories: Category of each id.
        seed: Of the draw.
        per_category: So many of each category, or all where it has fewer.
        size: So many in all, in proportion to the categories; None for all.
    """
    if not categories or per_category == 0:
        return set()
    prompts = [Prompt(id, "", category, "") for id, category in categories.items()]
    pool = Prompts("construction", "answer", prompts, "", "")
    chosen = select(pool, per_category=per_category, first=size, seed=seed)
    return {prompt.id for prompt in chosen.prompts}
