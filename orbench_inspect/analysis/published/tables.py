"""Published results for a terminal of 100 columns."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orbench_inspect.analysis.published import CATEGORIES, Published


def as_table(models: Iterable[Published]) -> RenderableType:
    """All models, a row each."""
    table = _table("refused, % (Cui et al., ICML 2025)", "model", "family")
    for name in ("hard", "toxic", "full", "prompts"):
        table.add_column(name, justify="right")
    table.add_column("served to make the sets")
    for model in models:
        table.add_row(
            *(model.model, model.family, f"{model.hard:.1f}", f"{model.toxic:.1f}", _full(model)),
            f"{model.hard_prompts:,}/{model.toxic_prompts}",
            model.role,
        )
    return Group(table, _caution())


def as_category_table(model: Published) -> RenderableType:
    """One model, a row for each category."""
    table = _table(f"{model.model}: refused, % (Cui et al., ICML 2025)", "category")
    for name in ("hard", "toxic", "full"):
        table.add_column(name, justify="right")
    for category in CATEGORIES:
        full = model.full_by_category.get(category)
        table.add_row(
            category,
            f"{model.hard_by_category[category]:.1f}",
            f"{model.toxic_by_category[category]:.1f}",
            "" if full is None else f"{full:.1f}",
        )
    table.add_row(
        "all prompts", f"{model.hard:.1f}", f"{model.toxic:.1f}", _full(model), style="bold"
    )
    scored = f"Scored on {model.hard_prompts:,} hard and {model.toxic_prompts} toxic prompts"
    kind = ", earlier ones that were never released." if model.early else ", as released."
    role = f" It {model.role}." if model.role else ""
    return Group(table, Text(f"{scored}{kind}{role}"), _caution())


def _full(model: Published) -> str:
    return "" if model.full is None else f"{model.full:.1f}"


def _caution() -> Text:
    return Text(
        "The judge was gpt-4-turbo-2024-04-09 with the paper's own instructions, on the full set "
        "keyword lists; 25 of the 32 models were scored on 1,534 hard and 681 toxic prompts that "
        "were never released. To look at beside your own results, not to test them against.",
        style="dim",
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name)
    return table
