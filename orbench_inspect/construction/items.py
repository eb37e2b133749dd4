"""Items in a generator's reply: read strictly, and never merged or split.

What cannot be read as exactly one item is a counted reject with its reason, and so is an item that
is no request: a refusal, a remark on the list, half a sentence.
"""

import json
import re
import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise

from orbench_inspect.refusal_rules import match, normalise

_NUMBERED = re.compile(r"\s*\**(\d{1,3})[.)]\**\s+(.*\S)\s*")
_BULLET = re.compile(r"\s*([-*•])\s+(.*\S)\s*")
_FENCE = re.compile(r"\A\s*```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_ENDS = ".?!\"”'’)*"

_META = re.compile(
    r"(?:sure|certainly|of course|absolutely|okay|ok)\b\s*[,!.:]"
    r"|(?:here|below|these|the following)\b[^.?!]{0,60}"
    r"\b(?:rewrit\w*|requests?|prompts?|versions?|questions?|list|examples?)\b[^?]{0,40}[:.]?\Z"
    r"|(?:note|notes|disclaimer|explanation|category|harmful|new|item|title)\s*\d*\s*:"
    r"|(?:rewritten|rewrite|request|prompt|question)(?: \w+)?\s*#?\d*\s*:"
    r"|i hope (?:this|these)\b|let me know\b|feel free to (?:ask|let me)\b|as requested\b"
)
_OWN_VOICE = re.compile(r"(?:i|i'm|we|sorry|unable|unfortunately|as an? (?:ai|language))\b")
_HANGING = re.compile(
    r"(?:[,;:(–—-]|\.\.\.|…|\b(?:and|or|the|a|an|to|of|with|for|from|by|my|your))\Z", re.IGNORECASE
)
_QUOTED_TWICE = re.compile(r"[\"“][^\"”]+[\"”]\s*(?:[,;/]|and|or)?\s*[\"“][^\"”]+[\"”]")
_ENUMERATED = re.compile(r"(?:^|\s)(\d{1,3})[.)]\s+\S")

_MIN_WORDS = 3
_MAX_CHARACTERS = 600


@dataclass(frozen=True)
class Reject:
    """Text that did not become an item."""

    reason: str
    text: str


@dataclass
class Items:
    """What a reply held."""

    kept: list[str] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    form: str = "list"
    """`json`, `list`, or `none`."""


def read_items(reply: str, cut_off: bool = False) -> Items:
    """Read the items of a reply: a JSON object with an array of strings, or a list.

    A list is numbered from 1 without a gap, or has one kind of bullet; one item a line. A
    line that holds the next number too, or is followed by a line without one, may be two
    items or a part of one: it is rejected, never cut or joined. Text before the list, and
    after a blank line behind a finished item, is a remark.

    Args:
        reply: The generator's visible text.
        cut_off: Whether it reached its token limit: then the last item is not whole.
    """
    bare = _FENCE.sub(r"\1", reply).strip()
    if bare.startswith(("{", "[")):
        return _from_json(bare)
    found, remarks = _lines(bare)
    if not found:
        declined = _declines(bare)
        return Items(rejects=[Reject("refused" if declined else "unparsed", bare)], form="none")
    items = Items(rejects=[Reject("meta", text) for text in remarks])
    for position, (text, whole) in enumerate(found):
        last = position == len(found) - 1
        plain = _unwrapped(text)
        reason = "" if whole else "merged"
        if cut_off and last:
            reason = reason or "truncated"
        _sort(items, plain, reason or fault(plain))
    return items


def fault(item: str) -> str:
    """Why a text is not one request, or nothing if it may be one.

    Returns:
        `not_text`, `meta`, `refused`, `merged`, `truncated`, `too_short`, `too_long`, or ''.
    """
    plain = normalise(item)
    odd = any(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") for c in item if c != "\n")
    # What begins so is a formula to a spreadsheet, or markup.
    if odd or item[:1] in "=+-@|<{[":
        return "not_text"
    if _META.match(plain):
        return "meta"
    if _OWN_VOICE.match(plain) and _declines(item):
        return "refused"
    numbers = [int(n) for n in _ENUMERATED.findall(item)]
    in_a_row = any(b == a + 1 for a, b in pairwise(numbers))
    if "\n" in item or in_a_row or _QUOTED_TWICE.fullmatch(item):
        return "merged"
    if _HANGING.search(item):
        return "truncated"
    if len(plain.split()) < _MIN_WORDS:
        return "too_short"
    return "too_long" if len(item) > _MAX_CHARACTERS else ""


def _from_json(text: str) -> Items:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return Items(rejects=[Reject("unparsed", text)], form="json")
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return Items(rejects=[Reject("unparsed", text)], form="json")
    items = Items(form="json")
    for item in value:
        _sort(items, item.strip(), fault(item.strip()))
    return items


def _lines(text: str) -> tuple[list[tuple[str, bool]], list[str]]:
    """List items, each with whether it is surely one, and remarks around them."""
    found: list[tuple[str, bool]] = []
    remarks: list[str] = []
    marker, number, blank = "", 0, True
    for line in text.splitlines():
        if not line.strip():
            blank = True
            continue
        numbered, bullet = _NUMBERED.fullmatch(line), _BULLET.fullmatch(line)
        if numbered and int(numbered[1]) == number + 1 and marker in ("", "1"):
            marker, whole = "1", True
            number += 1
            # The next numbers in the same line: two items that cannot be told apart.
            while any(int(n) == number + 1 for n in _ENUMERATED.findall(numbered[2])):
                number, whole = number + 1, False
            found.append((numbered[2], whole))
        elif bullet and not numbered and marker in ("", bullet[1]):
            marker = bullet[1]
            found.append((bullet[2], True))
        elif not found or (blank and found[-1][0].endswith(tuple(_ENDS))):
            remarks.append(line.strip())
        else:
            found[-1] = (found[-1][0], False)
            remarks.append(line.strip())
        blank = False
    return found, remarks


def _unwrapped(text: str) -> str:
    """An item without the marks around the whole of it."""
    for opening, closing in (("**", "**"), ('"', '"'), ("“", "”")):
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner:
            text = inner if opening not in inner and closing not in inner else text
    return text.strip()


def _sort(items: Items, text: str, reason: str) -> None:
    if reason:
        items.rejects.append(Reject(reason, text))
    else:
        items.kept.append(text)


def _declines(text: str) -> bool:
    """Whether a text declines outright: prompts may lecture, or point elsewhere."""
    return match(text).rule in ("declines", "policy")
