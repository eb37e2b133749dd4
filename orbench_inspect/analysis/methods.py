"""A paragraph for a paper: every n, revision, judge, hash, version and test that was used."""

from importlib.metadata import version
from typing import Any

from orbench_inspect.analysis.answers import ALPHA
from orbench_inspect.analysis.arms import PAST
from orbench_inspect.analysis.comparison import Comparison
from orbench_inspect.analysis.rates import category_sizes


def methods(comparison: Comparison) -> str:
    """Say how a comparison was made, in the words a paper needs."""
    runs = comparison.runs
    sentences = [_what(comparison), _sets(comparison)]
    judges = sorted({_judge(row) for _, row in runs.iterrows()})
    sentences.append(f"Responses were scored by {' and '.join(judges)}.")
    decoding = sorted(
        {f"temperature {r['temperature']}, {r['max_tokens']} tokens" for _, r in runs.iterrows()}
    )
    versions = sorted({f"orbench_inspect {p}" for p in runs["package"].dropna()})
    versions += [f"{name} {version(name)}" for name in ("scipy", "statsmodels")]
    versions += sorted({f"Inspect {v}" for v in runs["inspect"].dropna()})
    sentences.append(f"Decoding: {'; '.join(decoding)}. Versions: {', '.join(versions)}.")
    tests = sorted(set(comparison.differences["method"]))
    sentences.append(
        f"{_intervals(comparison)}; provider refusals count as refusals, and a second "
        "reading leaves them out. Unscored responses leave the denominator and bound the rates. "
        f"Arms were paired by prompt with the baseline '{comparison.baseline}' "
        f"({'; '.join(tests)}). "
        "The claim that an arm refuses fewer harmless prompts and is not worse on harmful ones by "
        f"{100 * comparison.margin:g} points was tested as one intersection-union test an arm over "
        f"both sides and readings, with Holm's adjustment over arms at {ALPHA:.0%}. Categories are "
        "exploratory (Benjamini-Hochberg). Prompts were taken as independent."
    )
    if comparison.correction is not None:
        sentences.append(
            "Rates and differences were corrected for the judge's error "
            f"({comparison.correction}): predictive values with Jeffreys' priors (Kerman's "
            "neutral ones in differences), shares of verdicts from the pairs' table, prompts "
            "weighted alike in both arms (Bayesian bootstrap), medians and 95% intervals of 10,000 "
            "draws."
        )
    return " ".join(sentences)


def _what(comparison: Comparison) -> str:
    models = ", ".join(sorted(comparison.runs["model"].unique()))
    hashes = comparison.runs.groupby("arm")["composed_sha256"].first()
    arms = ", ".join(f"{arm} ({str(sha)[:12]})" for arm, sha in hashes.items())
    epochs = sorted(comparison.runs["epochs"].unique())
    return (
        f"We compared {arms} (by {comparison.by}; in brackets the hash of what was asked) "
        f"on {models}, "
        f"with {' and '.join(map(str, epochs))} epoch(s)."
    )


def _sets(comparison: Comparison) -> str:
    told = []
    for name, rows in comparison.runs.groupby("prompt_set"):
        first = rows.iloc[0]
        pairs = comparison.differences[comparison.differences["prompt_set"] == name]["n"]
        revision = f"revision {first['revision']}, " if first["revision"] else ""
        told.append(
            f"{name} (should be {PAST[first['wanted']]}; {revision}content "
            f"{str(first['data_sha256'])[:12]}; {_range(rows['samples'])} samples a run, "
            f"{_range(pairs)} pairs)"
        )
    return "Prompt sets: " + "; ".join(told) + "."


def _intervals(comparison: Comparison) -> str:
    runs = comparison.runs
    weighted = runs[[category_sizes(run) is not None for _, run in runs.iterrows()]]
    told = "Rates have Wilson 95% intervals"
    if not weighted.empty:
        sets = " and ".join(sorted(weighted["prompt_set"].unique()))
        told += (
            f"; those on {sets}, of which equal numbers of each category were asked, are weighted "
            "back to the set's categories, and combine the categories' Wilson intervals (Zou, "
            "Huang and Zhang)"
        )
    if not comparison.balance.empty:
        told += "; Youden's J combines the intervals of both rates (Newcombe)"
    return told


def _range(numbers: Any) -> str:
    low, high = numbers.min(), numbers.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _judge(row: Any) -> str:
    if row["scorer"] == "matcher":
        return f"rules ({row['judge']})"
    prompt = f"judge prompt '{row['judge_prompt']}', {str(row['judge_prompt_sha256'])[:12]}"
    return f"{row['judge']} ({prompt})"
