"""A person's own prompts, which never carry OR-Bench's name; constructed ones are told as such."""

import re
from pathlib import Path

from orbench_inspect.prompt_sets.provenance import read_provenance
from orbench_inspect.prompt_sets.reading import read_prompts
from orbench_inspect.prompt_sets.records import Prompts, Wanted


def custom_prompts(file: str, wanted: Wanted) -> Prompts:
    """Read a person's own prompts.

    Args:
        file: A csv, jsonl or parquet file with a column `prompt` and, if there are
            categories, a column `category`.
        wanted: What should happen to its prompts.

    Raises:
        ValueError: If the file cannot be read, naming file, row, column and remedy.
    """
    path = Path(file).expanduser()
    name = "custom_" + (re.sub(r"\W+", "_", path.stem).strip("_")[:30] or "set")
    found = read_prompts(name, path)
    construction = read_provenance(path)
    altered = construction is not None and construction.altered
    deviations = ("the file is no longer what was constructed",) if altered else ()
    return Prompts(
        name,
        wanted,
        found.prompts,
        str(path),
        found.sha256,
        deviations=deviations,
        construction=construction,
    )
