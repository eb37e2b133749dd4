"""Which prompts are asked, and in what order."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from orbench_inspect.prompt_sets import HARD, Prompts, custom_prompts, load_prompts, select
from orbench_inspect.prompt_sets.records import Row, identify
from tests.conftest import Write


@pytest.fixture
def hard(or_bench: Path) -> Prompts:
    return load_prompts(HARD, str(or_bench))


@pytest.mark.parametrize("n", [40, 100, 400])
def test_every_prefix_holds_the_categories_in_proportion(hard: Prompts, n: int) -> None:
    counts = Counter(p.category for p in select(hard).prompts[:n])
    assert counts.keys() == HARD.counts.keys()
    for category, total in HARD.counts.items():
        assert abs(counts[category] - n * total / 1319) <= 1


def test_the_order_is_that_of_the_seed(hard: Prompts) -> None:
    assert select(hard).prompts == select(hard).prompts
    assert select(hard).prompts != select(hard, seed=1).prompts
    assert select(hard).sha256 != select(hard, seed=1).sha256
    assert set(select(hard).prompts) == set(hard.prompts)


def test_per_category_takes_the_first_of_each_and_nests(hard: Prompts) -> None:
    few, more = (select(hard, per_category=n).prompts for n in (3, 5))
    assert Counter(p.category for p in few) == dict.fromkeys(HARD.counts, 3)
    assert set(few) < set(more)


def test_a_small_category_is_taken_whole(hard: Prompts) -> None:
    counts = Counter(p.category for p in select(hard, per_category=50).prompts)
    assert counts["harassment"] == 41


def test_categories_can_be_chosen(hard: Prompts) -> None:
    chosen = select(hard, categories=["hate", "self-harm"]).prompts
    assert Counter(p.category for p in chosen) == {"hate": 54, "self-harm": 63}
    with pytest.raises(ValueError, match="categories: Hate not in 'hard'; known: deception, hara"):
        select(hard, categories=["Hate"])


def test_excluding_prompts_does_not_reorder_the_others(hard: Prompts, tmp_path: Path) -> None:
    every = select(hard).prompts
    gone = {every[0].id, every[7].id}
    path = tmp_path / "ids.txt"
    path.write_text("\n".join(["# broken", *(f"{id}  # why" for id in gone), "toxic-hate-0", ""]))
    selection = select(hard, exclude=str(path))
    assert selection.excluded == 2
    assert {p.id for p in every} - {p.id for p in selection.prompts} == gone
    by_category = [
        [p.id for p in ps if p.category == "illegal"] for ps in (every, selection.prompts)
    ]
    assert [id for id in by_category[0] if id not in gone] == by_category[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hard-hate-000000000000", "line 2: 'hard-hate-000000000000' is not in 'hard'"),
        ("17", "line 2: '17' is not an id; ids look like hard-"),
    ],
)
def test_an_unknown_id_is_an_error(hard: Prompts, tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "ids.txt"
    path.write_text(f"\n{line}\n")
    with pytest.raises(ValueError, match=message):
        select(hard, exclude=str(path))


@pytest.mark.parametrize(
    "chosen", [{}, {"seed": 7}, {"first": 300}, {"per_category": 20}, {"categories": ["hate"]}]
)
def test_shards_together_ask_just_what_is_asked_without(
    hard: Prompts, chosen: dict[str, Any]
) -> None:
    whole = select(hard, **chosen)
    shards = [select(hard, **chosen, shard=(k, 10)) for k in range(1, 11)]
    assert Counter(p.id for s in shards for p in s.prompts) == Counter(p.id for p in whole.prompts)
    assert {(s.whole, s.whole_sha256) for s in shards} == {(len(whole.prompts), whole.sha256)}
    assert len({s.sha256 for s in shards}) == 10


def test_a_prompt_stays_in_its_shard_whatever_is_chosen(hard: Prompts) -> None:
    third = {p.id for p in select(hard, shard=(3, 10)).prompts}
    choices: list[dict[str, Any]] = [{"seed": 7}, {"first": 300}, {"per_category": 20}]
    for chosen in choices:
        some = {p.id for p in select(hard, **chosen, shard=(3, 10)).prompts}
        assert some
        assert some <= third


def test_shards_hold_every_category_in_proportion(hard: Prompts) -> None:
    shards = [select(hard, shard=(k, 10)).prompts for k in range(1, 11)]
    sizes = {len(prompts) for prompts in shards}
    assert max(sizes) - min(sizes) <= 1
    for category in HARD.counts:
        held = [sum(p.category == category for p in prompts) for prompts in shards]
        assert max(held) - min(held) <= 1
        # And so does the beginning of a shard, for `--limit`.
        begun = sum(p.category == category for p in shards[0][:40])
        assert abs(begun - 40 * HARD.counts[category] / 1319) <= 1.2


def test_a_shard_of_nothing_is_an_error(hard: Prompts) -> None:
    (only,) = select(hard, first=1).prompts
    empty = next(k for k in (1, 2) if only not in select(hard, shard=(k, 2)).prompts)
    with pytest.raises(ValueError, match=r"holds none of the 1 prompts chosen: take fewer shards"):
        select(hard, first=1, shard=(empty, 2))


def test_equal_rows_are_told_apart_by_an_ordinal() -> None:
    rows = [Row("a", "x"), Row("a", "x"), Row("a", "y")]
    ids = [p.id for p in identify("s", rows)]
    assert len(set(ids)) == 3
    assert ids[1] == f"{ids[0]}-2"
    assert identify("s", rows[1:])[0].id == ids[0]


def test_own_prompts_never_carry_or_bench_s_name(prompts_file: Write) -> None:
    prompts = custom_prompts(
        str(prompts_file("one", name="hard.csv", category="né/w cat")), "answer"
    )
    assert prompts.name == "custom_hard"
    assert prompts.prompts[0].id.startswith("custom_hard-né_w_cat-")
