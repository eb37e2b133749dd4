"""Published sets: from a folder, from the Hub, bundled, and whether they are what they claim."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orbench_inspect.prompt_sets import BUNDLED, FULL, HARD, TOXIC, check_folder, load_prompts
from tests.fakes.hub import serving_hub

assert HARD.hub is not None
HUB_REPO, HUB_REVISION = HARD.hub.repo, HARD.hub.revision


def test_the_real_files_are_recognised(or_bench: Path) -> None:
    for prompt_set, total in ((HARD, 1319), (TOXIC, 655)):
        prompts = load_prompts(prompt_set, str(or_bench))
        assert len(prompts.prompts) == total
        assert prompts.counts == prompt_set.counts
        assert prompts.deviations == []
        assert len({p.id for p in prompts.prompts}) == total


def test_ids_are_stable(or_bench: Path) -> None:
    first = load_prompts(HARD, str(or_bench)).prompts[0]
    assert first.id == "hard-deception-f24804160b04"
    assert first.text.startswith("What are some questionable techniques")


def test_the_environment_names_the_folder(or_bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBENCH_DATA_DIR", str(or_bench))
    assert len(load_prompts(TOXIC).prompts) == 655


def test_line_ends_and_a_bom_do_not_change_the_content(or_bench: Path, tmp_path: Path) -> None:
    data = (or_bench / TOXIC.file).read_bytes().replace(b"\r\n", b"\n")
    (tmp_path / TOXIC.file).write_bytes(b"\xef\xbb\xbf" + data)
    assert load_prompts(TOXIC, str(tmp_path)).sha256 == TOXIC.sha256


def altered(or_bench: Path, folder: Path) -> str:
    with (or_bench / HARD.file).open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    rows[17][0] += "!"
    with (folder / HARD.file).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(folder)


def test_an_altered_row_is_named(or_bench: Path, tmp_path: Path) -> None:
    folder = altered(or_bench, tmp_path)
    with pytest.raises(ValueError, match="is not the published set 'hard'") as caught:
        load_prompts(HARD, folder)
    message = str(caught.value)
    assert "1 rows are not in the published set: 17" in message
    assert "1 published rows are absent" in message
    assert f"hf download {HUB_REPO} or-bench-hard-1k.csv" in message
    assert "-T allow_unpinned=true" in message


def test_an_altered_set_can_be_allowed_and_says_so(or_bench: Path, tmp_path: Path) -> None:
    prompts = load_prompts(HARD, altered(or_bench, tmp_path), allow_unpinned=True)
    assert prompts.deviations[0] == "1 rows are not in the published set: 17"
    assert prompts.sha256 != HARD.sha256


def test_wrong_sizes_are_named_by_category(or_bench: Path, tmp_path: Path) -> None:
    shutil.copy(or_bench / "or-bench-80k-sample1000.csv", tmp_path / FULL.file)
    with pytest.raises(ValueError, match="1,000 prompts where 80,359 were published") as caught:
        load_prompts(FULL, str(tmp_path))
    assert "category 'hate': 0 prompts where 6,160 were published" in str(caught.value)


def test_a_full_set_of_the_right_size_is_accepted(tmp_path: Path) -> None:
    with (tmp_path / FULL.file).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "category"])
        for category, n in FULL.counts.items():
            writer.writerows([f"Prompt {i} on {category}?", category] for i in range(n))
    prompts = load_prompts(FULL, str(tmp_path))
    assert len({p.id for p in prompts.prompts}) == 80_359


def test_a_missing_file_comes_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"or-bench-toxic\.csv not found") as caught:
        load_prompts(TOXIC, str(tmp_path))
    assert f"--revision {HUB_REVISION}" in str(caught.value)
    assert "source must be 'hub', 'bundled' or such a folder" in str(caught.value)


def test_bundled_prompts_stand_in_only_when_asked_and_under_their_own_name() -> None:
    for task, total in (("hard", 100), ("toxic", 50)):
        prompts = load_prompts(HARD if task == "hard" else TOXIC, "bundled")
        assert (prompts.name, len(prompts.prompts)) == (BUNDLED[task].name, total)
        assert all(p.id.startswith("bundled_") for p in prompts.prompts)
    with pytest.raises(ValueError, match="no bundled prompts stand in for 'full'"):
        load_prompts(FULL, "bundled")


def test_bundled_prompts_are_not_or_bench(or_bench: Path) -> None:
    published = {p.text for s in (HARD, TOXIC) for p in load_prompts(s, str(or_bench)).prompts}
    bundled = {p.text for s in (HARD, TOXIC) for p in load_prompts(s, "bundled").prompts}
    assert published.isdisjoint(bundled)


def test_a_folder_is_checked_set_by_set(or_bench: Path) -> None:
    found = check_folder(or_bench)
    assert (found["hard"], found["toxic"]) == ("", "")
    assert "or-bench-80k.csv not found" in found["full"]
    assert check_folder(or_bench, ["toxic"]) == {"toxic": ""}


@pytest.mark.parametrize("name", ["bundled", "hub"])
def test_a_folder_is_a_folder_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert "or-bench-toxic.csv not found" in check_folder(Path(name))["toxic"]


_LOAD = """
import sys
from orbench_inspect.prompt_sets import HARD, TOXIC, FULL, load_prompts
for prompt_set in (HARD, TOXIC, FULL):
    try:
        prompts = load_prompts(prompt_set, allow_unpinned=prompt_set is FULL).prompts
        print(prompt_set.name, len(prompts))
    except ValueError as ex:
        print(prompt_set.name, ex)
"""


def load_from(endpoint: str, home: Path, **env: str) -> str:
    """Load all sets in a process of its own: the Hub's address is read at import."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    environment |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), **env}
    return subprocess.run(
        [sys.executable, "-c", _LOAD],
        env=environment,
        cwd=home.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def hub_files(or_bench: Path) -> dict[str, bytes]:
    configs = [
        f"- config_name: {s.hub.config if s.hub else ''}\n  data_files: {s.file}"
        for s in (HARD, TOXIC, FULL)
    ]
    card = "---\nconfigs:\n" + "\n".join(configs) + "\n---\n"
    real = {s.file: (or_bench / s.file).read_bytes() for s in (HARD, TOXIC)}
    return {"README.md": card.encode(), **real, FULL.file: b"prompt,category\nnull,hate\nNA,hate\n"}


def test_the_hub_is_read_at_the_pinned_revision_and_then_from_the_cache(
    or_bench: Path, tmp_path: Path
) -> None:
    with serving_hub(HUB_REPO, HUB_REVISION, hub_files(or_bench)) as (endpoint, asked):
        online = load_from(endpoint, tmp_path / "hf")
        assert online.splitlines() == ["hard 1319", "toxic 655", "full 2"]
        assert any(f"resolve/{HUB_REVISION}/{HARD.file}" in path for path in asked)
        asked.clear()
        assert load_from(endpoint, tmp_path / "hf", HF_HUB_OFFLINE="1") == online
        assert asked == []


def test_a_changed_hub_stops_the_run(or_bench: Path, tmp_path: Path) -> None:
    files = hub_files(or_bench)
    files[TOXIC.file] = files[TOXIC.file].replace(b"privacy", b"Privacy", 1)
    with serving_hub(HUB_REPO, HUB_REVISION, files) as (endpoint, _):
        found = load_from(endpoint, tmp_path / "hf")
    assert "hard 1319" in found
    assert f"or-bench-toxic.csv from {HUB_REPO} is not the published set 'toxic'" in found


def test_another_revision_in_the_cache_is_not_taken_for_ours(
    or_bench: Path, tmp_path: Path
) -> None:
    other = "0" * 40
    warm = (
        "from datasets import load_dataset\n"
        f"load_dataset('{HUB_REPO}', 'or-bench-80k', split='train', revision='{other}',"
        " keep_default_na=False)"
    )
    with serving_hub(HUB_REPO, other, hub_files(or_bench)) as (endpoint, _):
        environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf")}
        del environment["HF_HUB_OFFLINE"]
        subprocess.run([sys.executable, "-c", warm], env=environment, cwd=tmp_path, check=True)
        found = load_from(endpoint, tmp_path / "hf", HF_HUB_OFFLINE="1")
    assert "full the cache holds another revision" in found


def test_without_a_network_nothing_is_tried_and_the_remedy_is_named(tmp_path: Path) -> None:
    with serving_hub(HUB_REPO, HUB_REVISION, {}) as (endpoint, asked):
        found = load_from(endpoint, tmp_path / "hf", HF_HUB_OFFLINE="1")
        assert asked == []
    assert f"or-bench-hard-1k.csv could not be read from {HUB_REPO}" in found
    assert f"--revision {HUB_REVISION} --local-dir FOLDER" in found
    assert "ORBENCH_DATA_DIR=FOLDER" in found
    assert found.count("source=bundled") == 2  # none stand in for the full set
