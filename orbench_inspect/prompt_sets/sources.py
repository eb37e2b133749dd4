"""Where published prompt sets are read from, and the check that they are what was published."""

import os
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from orbench_inspect.prompt_sets.reading import read_prompts
from orbench_inspect.prompt_sets.records import (
    BUNDLED,
    OR_BENCH,
    Hub,
    Identified,
    Prompt,
    Prompts,
    PromptSet,
    Row,
)

DATA_DIR = "ORBENCH_DATA_DIR"
"""Environment variable naming a folder with the upstream files, read in place of the Hub."""

_HERE = Path(__file__).parent


def load_prompts(
    prompt_set: PromptSet, source: str = "hub", allow_unpinned: bool = False
) -> Prompts:
    """Read a published set and check it against what was published.

    Args:
        prompt_set: The set.
        source: `hub` (the Hugging Face Hub at the pinned revision, or the folder that
            ORBENCH_DATA_DIR names), `bundled` (the package's own prompts in its place),
            or a folder with the upstream files.
        allow_unpinned: Accept a set that differs from the published one; how it differs
            is recorded in `Prompts.deviations`.

    Raises:
        ValueError: If the set cannot be read, or differs and that was not allowed.
    """
    if source == "bundled":
        if prompt_set.name not in BUNDLED:
            raise ValueError(
                f"no bundled prompts stand in for '{prompt_set.name}'; "
                f"bundled are those for {' and '.join(BUNDLED)}"
            )
        prompt_set = BUNDLED[prompt_set.name]
        found = read_prompts(prompt_set.name, _HERE / "bundled" / prompt_set.file)
        return _checked(prompt_set, found, "bundled", None, False)
    folder = os.environ.get(DATA_DIR) if source == "hub" else source
    if folder or prompt_set.hub is None:
        path = Path(folder or source).expanduser() / prompt_set.file
        if not path.is_file():
            raise ValueError(_missing(prompt_set, path, source))
        found = read_prompts(prompt_set.name, path)
        return _checked(prompt_set, found, str(path), None, allow_unpinned)
    found = _from_hub(prompt_set.name, prompt_set.file, prompt_set.hub)
    return _checked(prompt_set, found, "hub", prompt_set.hub.revision, allow_unpinned)


def check_folder(folder: Path, names: Sequence[str] = ()) -> dict[str, str]:
    """Check a folder with the upstream files, for use without a network.

    Args:
        folder: The folder.
        names: The sets to look for; all of OR-Bench's if none is named.

    Returns:
        What is wrong with each set, by its name; an empty string where nothing is.
    """
    found = {}
    for prompt_set in OR_BENCH:
        if names and prompt_set.name not in names:
            continue
        try:
            load_prompts(prompt_set, str(folder.resolve()))
            found[prompt_set.name] = ""
        except ValueError as ex:
            found[prompt_set.name] = str(ex)
    return found


def _missing(prompt_set: PromptSet, path: Path, source: str) -> str:
    asked = f"the folder that {DATA_DIR} names" if source == "hub" else f"source={source}"
    return (
        f"{path} not found ({asked} must hold {prompt_set.file}); "
        f"fetch it with: {_fetch_command(prompt_set)}\n"
        "source must be 'hub', 'bundled' or such a folder"
    )


def _fetch_command(prompt_set: PromptSet) -> str:
    if prompt_set.hub is None:
        return "pip install --force-reinstall orbench-inspect"
    return _download_command(prompt_set.file, prompt_set.hub)


def _download_command(file: str, hub: Hub) -> str:
    return (
        f"hf download {hub.repo} {file} --repo-type dataset --revision {hub.revision} "
        "--local-dir FOLDER"
    )


@lru_cache(maxsize=4)
def _from_hub(set_name: str, file: str, hub: Hub) -> Identified:
    """Read a set at its revision: once, however many tasks ask it."""
    from datasets import load_dataset

    try:
        # keep_default_na: a prompt may be the word "null".
        data = load_dataset(
            hub.repo, hub.config, split="train", revision=hub.revision, keep_default_na=False
        )
    except Exception as ex:
        raise ValueError(
            f"{file} could not be read from {hub.repo} at revision {hub.revision}: "
            f"{type(ex).__name__}: {str(ex).partition(chr(10))[0]}\n"
            f"Where the Hub is reachable, run: {_download_command(file, hub)}\n"
            f"then set {DATA_DIR}=FOLDER, or source (-T source=FOLDER; scripts: --source FOLDER)."
            + (
                " The package's own prompts need no network: source=bundled"
                if set_name in BUNDLED
                else ""
            )
        ) from ex
    # Without a network, datasets takes whatever revision its cache holds.
    if not all(hub.revision in file["filename"] for file in data.cache_files):
        raise ValueError(
            f"the cache holds another revision of {hub.repo} than {hub.revision}; "
            f"run once with the network, or: {_download_command(file, hub)}"
        )
    rows = [Row(p, c) for p, c in zip(data["prompt"], data["category"], strict=True)]
    return Identified.of(set_name, rows)


def _checked(
    prompt_set: PromptSet,
    found: Identified,
    source: str,
    revision: str | None,
    allow_unpinned: bool,
) -> Prompts:
    deviations = _deviations(prompt_set, found)
    if deviations and not allow_unpinned:
        hub = prompt_set.hub if source == "hub" else None
        where = f"{prompt_set.file} from {hub.repo}" if hub else source
        raise ValueError(
            f"{where} is not the published set '{prompt_set.name}':\n  "
            + "\n  ".join(deviations)
            + f"\nFetch the published file with: {_fetch_command(prompt_set)}\n"
            "or measure it as your own set with the task `custom`, or allow it for this set "
            "with -T allow_unpinned=true (recorded in the log)"
        )
    return Prompts(
        prompt_set.name,
        prompt_set.wanted,
        found.prompts,
        source,
        found.sha256,
        revision,
        deviations,
    )


def _deviations(prompt_set: PromptSet, found: Identified) -> list[str]:
    counts = Counter(prompt.category for prompt in found.prompts)
    deviations = []
    if len(found.prompts) != prompt_set.total:
        deviations.append(
            f"{len(found.prompts):,} prompts where {prompt_set.total:,} were published"
        )
    for category in sorted(counts.keys() | prompt_set.counts.keys()):
        if counts[category] != prompt_set.counts.get(category, 0):
            deviations.append(
                f"category {category!r}: {counts[category]:,} prompts "
                f"where {prompt_set.counts.get(category, 0):,} were published"
            )
    if prompt_set.sha256 is not None and found.sha256 != prompt_set.sha256:
        deviations += _altered_rows(prompt_set, found.prompts)
        deviations.append(
            f"content hash {found.sha256[:12]}… where {prompt_set.sha256[:12]}… is pinned"
        )
    return deviations


def _altered_rows(prompt_set: PromptSet, prompts: Sequence[Prompt]) -> list[str]:
    path = _HERE / "fingerprints" / f"{prompt_set.name}.txt"
    if not path.is_file():
        return []
    missing = Counter(path.read_text(encoding="ascii").split())
    foreign = []
    for number, prompt in enumerate(prompts, 1):
        fingerprint = prompt.fingerprint[:12]
        if missing[fingerprint] > 0:
            missing[fingerprint] -= 1
        else:
            foreign.append(number)
    listed = ", ".join(map(str, foreign[:5])) + (", …" if len(foreign) > 5 else "")
    absent = missing.total()
    return [
        f"{len(foreign)} rows are not in the published set" + (f": {listed}" if foreign else ""),
        f"{absent} published rows are absent",
    ]
