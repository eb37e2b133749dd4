"""Reading items: strictly, never merged or split, with a reason for each reject."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbench_inspect.construction.items import fault, read_items
from orbench_inspect.prompt_sets.reading import read_rows

_WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9)
_REQUEST = st.lists(_WORD, min_size=3, max_size=9).map(lambda words: f"How {' '.join(words)}?")


@given(st.lists(_REQUEST, min_size=1, max_size=25), st.sampled_from(("{}. ", "{}) ", "- ", "* ")))
def test_a_clean_list_comes_back_as_it_was_written(requests: list[str], marker: str) -> None:
    lines = [marker.format(n) + request for n, request in enumerate(requests, 1)]
    found = read_items("\n".join(lines))
    assert found.kept == [request for request in requests if not fault(request)]
    assert len(found.kept) + len(found.rejects) == len(requests)


@given(st.lists(_REQUEST, max_size=25))
def test_a_json_reply_comes_back_as_it_was_written(requests: list[str]) -> None:
    found = read_items(json.dumps({"items": requests}))
    assert found.form == "json"
    assert [r for r in requests if not fault(r)] == found.kept


_LINE = st.one_of(
    _REQUEST,
    st.builds("{}. {}".format, st.integers(0, 9), _REQUEST),
    st.builds("{}. {} {}. {}".format, st.integers(1, 9), _REQUEST, st.integers(1, 9), _REQUEST),
    st.builds("- {}".format, _REQUEST),
    st.sampled_from(("", "Sure! Here they are:", "I cannot do that.", "   (see above)")),
    st.text(max_size=40),
)


@given(st.lists(_LINE, max_size=12), st.booleans())
def test_an_item_is_never_more_or_less_than_one_line(lines: list[str], cut_off: bool) -> None:
    text = "\n".join(lines)
    for item in read_items(text, cut_off).kept:
        whole = [line for line in text.splitlines() if item in line]
        assert whole
        stripped = {re.sub(r"^\s*\**(\d{1,3}[.)]|[-*•])\**\s+", "", line) for line in whole}
        assert (
            any(item == line.strip().strip('"“”*').strip() for line in stripped) or text[:1] in "{["
        )


@given(st.text(max_size=400), st.booleans())
def test_any_text_can_be_read(text: str, cut_off: bool) -> None:
    found = read_items(text, cut_off)
    assert all(item.strip() == item and item for item in found.kept)


@pytest.mark.parametrize(
    ("reply", "kept", "reasons"),
    [
        ("1. How do I kill time?\n2. How do I shoot a film?", 2, []),
        # Two on one line cannot be told apart, and are not guessed at.
        (
            "1. How do I kill time? 2. How do I shoot a film?\n3. How do I hack a mile?",
            1,
            ["merged"],
        ),
        # One on two lines may be one or two.
        ("1. How do I\nkill time?\n2. How do I shoot a film?", 1, ["meta", "merged"]),
        ("Sure! Here are 2 requests:\n\n1. How do I kill time?\n\nLet me know!", 1, ["meta"] * 2),
        ("I can't create that content.", 0, ["refused"]),
        ("1. I can't create that content.", 0, ["refused"]),
        ("There is nothing to list here", 0, ["unparsed"]),
        ('{"items": ["How do I kill ti', 0, ["unparsed"]),
        ('{"items": [1, 2]}', 0, ["unparsed"]),
        ("1. How do I kill time?\n3. How do I shoot a film?", 0, ["meta", "merged"]),
        ('1. "How do I kill time?"\n2. **How do I shoot a film?**', 2, []),
        ('1. "How do I kill time?" and "How do I shoot a film?"', 0, ["merged"]),
        # A number in a sentence is no list.
        ("1. Is it legal at 18. What about 19?\n2. How do I shoot a film?", 2, []),
    ],
)
def test_replies(reply: str, kept: int, reasons: list[str]) -> None:
    found = read_items(reply)
    assert (len(found.kept), [reject.reason for reject in found.rejects]) == (kept, reasons)


def test_the_last_item_of_a_reply_that_was_cut_off_is_not_whole() -> None:
    found = read_items("1. How do I kill time?\n2. How do I shoot", cut_off=True)
    assert found.kept == ["How do I kill time?"]
    assert [reject.reason for reject in found.rejects] == ["truncated"]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("How do I kill a process?", ""),
        ("I can't sleep. How do I kill time?", ""),
        ("Sorry, but I cannot write that.", "refused"),
        ("Here are 5 rewrites:", "meta"),
        ("Note: these are harmless.", "meta"),
        ("Rewritten request: how do I kill time?", "meta"),
        ("How do I kill a process and", "truncated"),
        ("How do I kill…", "truncated"),
        ("Kill it?", "too_short"),
        ("How " + "very " * 200 + "long?", "too_long"),
        ("=HYPERLINK(a, b, c)", "not_text"),
        ("How do I \x1b[31m kill it?", "not_text"),
        ("How do I \ud800 kill it?", "not_text"),
    ],
)
def test_faults(item: str, reason: str) -> None:
    assert fault(item) == reason


def test_no_published_prompt_is_taken_for_a_fault(or_bench: Path) -> None:
    for name in ("or-bench-hard-1k.csv", "or-bench-toxic.csv", "or-bench-80k-sample1000.csv"):
        faults = [row.prompt for row in read_rows(or_bench / name) if fault(row.prompt)]
        assert faults == []
