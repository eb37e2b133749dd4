"""Where published prompt sets are read from, and the check that they are what was published."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from orbench_inspect.prompt_sets.reading import read_rows
from orbench_inspect.prompt_sets.records import (
    BUNDLED,
    OR_BENCH,
    Hub,
    Prompts,
    PromptSet,
    Row,
    content_hash,
    identify,
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
        return _checked(
            prompt_set, read_rows(_HERE / "bundled" / prompt_set.file), "bundled", None, False
        )
    folder = os.environ.get(DATA_DIR) if source == "hub" else source
    if folder or prompt_set.hub is None:
        path = Path(folder or source).expanduser() / prompt_set.file
        if not path.is_file():
            raise ValueError(_missing(prompt_set, path, source))
        return _checked(prompt_set, read_rows(path), str(path), None, allow_unpinned)
    rows = _hub_rows(prompt_set, prompt_set.hub)
    return _checked(prompt_set, rows, "hub", prompt_set.hub.revision, allow_unpinned)


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
    return (
        f"hf download {prompt_set.hub.repo} {prompt_set.file} --repo-type dataset "
        f"--revision {prompt_set.hub.revision} --local-dir FOLDER"
    )


def _hub_rows(prompt_set: PromptSet, hub: Hub) -> list[Row]:
    from datasets import load_dataset

    try:
        # keep_default_na: a prompt may be the word "null".
        data = load_dataset(
            hub.repo, hub.config, split="train", revision=hub.revision, keep_default_na=False
        )
    except Exception as ex:
        raise ValueError(
            f"{prompt_set.file} could not be read from {hub.repo} at revision {hub.revision}: "
            f"{type(ex).__name__}: {str(ex).partition(chr(10))[0]}\n"
            f"Where the Hub is reachable, run: {_fetch_command(prompt_set)}\n"
            f"then set {DATA_DIR}=FOLDER (or -T source=FOLDER). "
            "The package's own prompts need no network: -T source=bundled"
        ) from ex
    # Without a network, datasets takes whatever revision its cache holds.
    if not all(hub.revision in file["filename"] for file in data.cache_files):
        raise ValueError(
            f"the cache holds another revision of {hub.repo} than {hub.revision}; "
            f"run once with the network, or: {_fetch_command(prompt_set)}"
        )
    return [Row(p, c) for p, c in zip(data["prompt"], data["category"], strict=True)]


def _checked(
    prompt_set: PromptSet,
    rows: Sequence[Row],
    source: str,
    revision: str | None,
    allow_unpinned: bool,
) -> Prompts:
    prompts = identify(prompt_set.name, rows)
    found = content_hash([p.fingerprint for p in prompts])
    deviations = _deviations(prompt_set, rows, found)
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
    return Prompts(prompt_set.name, prompt_set.wanted, prompts, source, found, revision, deviations)


def _deviations(prompt_set: PromptSet, rows: Sequence[Row], found: str) -> list[str]:
    counts = Counter(row.category for row in rows)
    deviations = []
    if len(rows) != prompt_set.total:
        deviations.append(f"{len(rows):,} prompts where {prompt_set.total:,} were published")
    for category in sorted(counts.keys() | prompt_set.counts.keys()):
        if counts[category] != prompt_set.counts.get(category, 0):
            deviations.append(
                f"category {category!r}: {counts[category]:,} prompts "
                f"where {prompt_set.counts.get(category, 0):,} were published"
            )
    if prompt_set.sha256 is not None and found != prompt_set.sha256:
        deviations += _altered_rows(prompt_set, rows)
        deviations.append(f"content hash {found[:12]}… where {prompt_set.sha256[:12]}… is pinned")
    return deviations


def _altered_rows(prompt_set: PromptSet, rows: Sequence[Row]) -> list[str]:
    path = _HERE / "fingerprints" / f"{prompt_set.name}.txt"
    if not path.is_file():
        return []
    missing = Counter(path.read_text(encoding="ascii").split())
    foreign = []
    for number, row in enumerate(rows, 1):
        fingerprint = row.fingerprint[:12]
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
