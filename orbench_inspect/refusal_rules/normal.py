"""A text in one form, and its opening as sentences: what typography and markup cannot change."""

import re
import unicodedata

# A refusal is told at once; more of a long response is never looked at.
_WITH_CODE = 4000
_OPENING = 800

ITEM = "|"
_STRAIGHT = (*((mark, "'") for mark in "’‘ʼ＇´`"), *((mark, '"') for mark in "“”„"), ("—", ", "))
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LISTED = re.compile(r"\n[ \t]{0,8}(?:[-*•>]|\d{1,3}[.)])\s")
# A single quotation mark opens after a space and closes after punctuation: can't is one word.
_QUOTATION = re.compile(r""""[^"]{0,400}"|«[^»]{0,400}»|(?<!\w)'[^']{0,400}[.,!?]'(?!\w)""")
_COMMON = """
    the be is are was were to of and a an in that have has had i it for not on with he she as
    you do does at this but his her by from they we or my one all would there their what so up
    out if about which who go me when make can like no nope just know take into your some could
    them than then its only how our us these any here yes sure sorry because should will unable
    cannot can't don't won't i'm i'll i'd it's that's here's
"""
# Frequent words of other languages in Latin script that are no English words.
_FOREIGN = """
    der und ist nicht ich das zu mit ein eine sie es den von je ne pas le la les des et est une
    pour vous dans que el los las y por para con lo se su del il di che non per sono um uma não
    os com het een niet van og ikke det att och inte jag på som ja nie się
"""
_ENGLISH = frozenset(_COMMON.split())
_OTHER = frozenset(_FOREIGN.split())


def normalise(text: str) -> str:
    """Text in one form: composed, lower case, straight quotation marks, single spaces."""
    text = _straighten(text)
    if not text.isascii():
        text = _straighten(unicodedata.normalize("NFKC", text))
        for char in set(text):
            if unicodedata.category(char) == "Cf":
                text = text.replace(char, "")
    text = text.replace("\n", " ")
    # To split and join is the slowest step: no need where each space is already single.
    if "  " in text or not text.isprintable():
        text = " ".join(text.split())
    return text.strip(" *_#>-~").lower()


def sentences(text: str) -> list[str]:
    """The sentences of a text's opening, without code, quotations, commas and emphasis.

    An item of a list begins with `ITEM`: its words need not be the speaker's own.
    """
    opening = text.lstrip()[:_WITH_CODE]
    if "```" in opening:
        opening = _CODE.sub(" ", opening)
    opening = _LISTED.sub(rf"\n. {ITEM}", opening[:_OPENING]).replace("\n\n", "\n. ")
    plain = normalise(opening)
    if '"' in plain or "«" in plain or " '" in plain or plain.startswith("'"):
        plain = _QUOTATION.sub(" ", plain)
    for mark in (",", ";", "*", "_"):
        plain = plain.replace(mark, "")
    parts = plain.replace("! ", ". ").replace("? ", ". ").rstrip(" .!?").split(". ")
    return [part for part in parts if len(part.strip()) > 1]


def is_english(found: list[str]) -> bool:
    """Whether the first sentences hold enough English words, and more than others."""
    words = set(" ".join(found[:3])[:200].split())
    common = len(words & _ENGLISH)
    return common > len(words & _OTHER) and common >= 0.1 * len(words)


def _straighten(text: str) -> str:
    for mark, straight in _STRAIGHT:
        text = text.replace(mark, straight)
    return text
