"""The prompts a page shows: which of them, and the texts that go with them."""

import base64
import gzip
import json
from typing import Any

import pandas as pd

from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.texts import Texts, read_texts

MOST_SAMPLES = 12_000
"""Samples whose texts a page holds: 12 runs of 1,000."""

# What is left of 8 MB beside 1 MB of figures, with room to spare for many arms.
_MOST_PACKED = 6_000_000
_LENGTHS = (4_000, 2_000, 1_000, 500, 250)

_PROMPT = ["prompt_set", "id"]


def prompt_data(found: Overview, responses: bool) -> dict[str, Any]:
    """What a page holds of the prompts, and how many it leaves out.

    Flipped prompts come first, then those with an unscored sample, then those that were not
    dealt with as wanted: where not all fit, these are kept.

    Args:
        found: From `overview`.
        responses: Whether to include what models wrote.

    Returns:
        `shown` and `all` prompts; `length` at which texts are cut, None where none was; and
        `packed`, the table for the page's script, as gzipped JSON in base64.

    Raises:
        ValueError: If a log has lost samples.
    """
    every = _in_order(found.samples)
    kept = every[every["n"].cumsum() <= MOST_SAMPLES]
    samples = found.samples[found.samples.set_index(_PROMPT).index.isin(kept.index)]
    texts = _texts(found, samples)
    longest = max((len(text.response) for text in texts.values()), default=0)
    for length in _LENGTHS if responses else (0,):
        packed = _packed(_table(found, samples, kept, texts, length))
        if len(packed) <= _MOST_PACKED:
            break
    return {
        "shown": len(kept),
        "all": len(every),
        "length": length if responses and longest > length else None,
        "packed": packed,
    }


def _packed(table: dict[str, Any]) -> str:
    raw = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(raw, mtime=0)).decode()


def _in_order(samples: pd.DataFrame) -> pd.DataFrame:
    """Prompts by how much there is to see: `n` samples and whether it is `flipped`."""
    groups = samples.groupby(["group", *_PROMPT])["deployed"]
    flipped = (groups.max() > groups.min()).groupby(level=_PROMPT).any()
    wrong = samples["deployed"] == (samples["wanted"] == "answer").astype(float)
    by_prompt = samples.assign(wrong=wrong).groupby(_PROMPT)
    told = by_prompt.agg(n=("run", "size"), unscored=("unscored", "any"), wrong=("wrong", "any"))
    told = told.join(flipped.rename("flipped"))
    order = ["flipped", "unscored", "wrong"]
    return told.sort_values(order, ascending=False, kind="stable")


def _texts(found: Overview, samples: pd.DataFrame) -> dict[int, Texts]:
    """Texts by the sample's place in the frame; of a log that several judges scored, once."""
    texts: dict[int, Texts] = {}
    for file, mine in samples.groupby("file"):
        first = mine.drop_duplicates(["id", "epoch"])
        asked = list(zip(first["id"], first["epoch"], strict=True))
        read = dict(zip(asked, read_texts(str(file), asked), strict=True))
        keys = zip(mine.index, mine["id"], mine["epoch"], strict=True)
        texts |= {index: read[id, epoch] for index, id, epoch in keys}
    return texts


class _Numbered(dict[str, int]):
    """Strings by number, each kept once."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def _cut(text: str, length: int) -> str:
    left_out = len(text) - length
    return f"{text[:length]}… ({left_out:,} more characters)" if left_out > 0 else text


def _table(
    found: Overview,
    samples: pd.DataFrame,
    kept: pd.DataFrame,
    texts: dict[int, Texts],
    length: int,
) -> dict[str, Any]:
    """Prompts by run, strings by number; responses cut at a length, or left out where it is 0."""
    words, said = _Numbered(), _Numbered()
    columns = {run: n for n, run in enumerate(found.arms["run"])}
    prompts: dict[tuple[str, str], list[Any]] = {}
    for row in samples.itertuples():
        key, text = (str(row.prompt_set), str(row.id)), texts[row.Index]
        if key not in prompts:
            asked = _cut(text.prompt, _LENGTHS[0])
            prompts[key] = [words[key[0]], words[str(row.category)], key[1], asked, []]
        file = str(row.file).rpartition("/")[2]
        cell: list[Any] = [columns[row.run], words[str(row.outcome)], words[row.flags], row.epoch]
        cell.append(words[file])
        if length:
            why = text.error or text.explanations.get(row.score, "")
            left_out = max(0, len(text.response) - length)
            cell += [said[text.response[:length]], said[_cut(why, 1_000)], left_out]
        prompts[key][4].append(cell)
    return {
        "runs": found.arms[["group", "arm"]].astype(str).to_dict("records"),
        "words": list(words),
        "said": list(said),
        "prompts": [prompts[key] for key in kept.index if key in prompts],
    }
