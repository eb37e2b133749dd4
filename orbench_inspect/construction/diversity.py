"""How different prompts are from one another: self-BLEU, as in the paper, and distinct n-grams."""

from collections.abc import Sequence
from math import nan
from random import Random

from orbench_inspect.refusal_rules import normalise

SAMPLE = 100
"""Prompts of a category that diversity is measured on: each is compared with all others."""


def self_bleu(texts: Sequence[str], seed: int, sample: int = SAMPLE) -> float:
    """Mean BLEU-4 of each text against the others, from 0 (all different) to 1 (all alike).

    Zhu et al., Texygen (SIGIR 2018), by sacrebleu's sentence BLEU with exponential smoothing on
    lower-cased text. It grows with the number of texts: compare equal samples.

    Args:
        texts: The prompts.
        seed: Of the sample.
        sample: How many prompts are drawn; all if there are no more.

    Returns:
        nan for fewer than two texts.
    """
    from sacrebleu.metrics.bleu import BLEU

    drawn = Random(seed).sample(list(texts), min(sample, len(texts)))
    if len(drawn) < 2:
        return nan
    bleu = BLEU(lowercase=True, effective_order=True)
    scores = [
        bleu.sentence_score(text, drawn[:i] + drawn[i + 1 :]).score for i, text in enumerate(drawn)
    ]
    return sum(scores) / len(scores) / 100


def distinct(texts: Sequence[str], n: int) -> float:
    """Different n-grams of words in proportion to all (Li et al., NAACL 2016); nan without any."""
    total = 0
    seen: set[tuple[str, ...]] = set()
    for text in texts:
        words = normalise(text).split()
        grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
        total += len(grams)
        seen.update(grams)
    return len(seen) / total if total else nan
