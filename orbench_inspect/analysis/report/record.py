"""What was run, and how far its numbers can be trusted."""

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

from orbench_inspect.analysis.overview import Overview
from orbench_inspect.analysis.wording import interval, percent, plain
from orbench_inspect.scoring.run_record import UNSCORED_LIMIT
from orbench_inspect.scoring.words import CAUSES, VERDICTS


def quality(found: Overview, row: Any) -> dict[str, Any]:
    """How far one arm's numbers on one set can be trusted."""
    every = found.samples
    same = (every["group"] == row["group"]) & (every["arm"] == row["arm"])
    samples = every[same & (every["prompt_set"] == row["prompt_set"])]
    counts = samples["outcome"].value_counts()
    # Of those that came to be judged: a block, or nothing to read, is settled without a judge.
    failed = sum(int(counts.get(c, 0)) for c, why in CAUSES.items() if why == "grader_failed")
    given = sum(int(counts.get(verdict, 0)) for verdict in VERDICTS)
    flags = samples["flags"].str.split().explode().value_counts()
    return {
        "group": plain(row["group"]),
        "arm": plain(row["arm"]),
        "set": plain(row["prompt_set"]),
        "samples": f"{row['samples']:,}",
        "unscored": int(row["unscored"]),
        "loud": bool(row["unscored"] > UNSCORED_LIMIT * row["samples"]),
        "causes": {cause: int(counts.get(cause, 0)) for cause in CAUSES},
        "provider_refusals": int(row["provider_refusals"]),
        "bounds": f"{percent(row['lower_bound'])} to {percent(row['upper_bound'])}",
        "judge": f"{given:,} of {given + failed:,}",
        "truncated": int(flags.get("truncated", 0)),
        "injections": int(samples["injection_suspected"].astype(bool).sum()),
        "corrected": corrected(row, percent),
    }


def run_record(found: Overview, row: Any) -> dict[str, str]:
    """One run: what was asked of whom, and every hash and version that decides its numbers."""
    samples = found.samples[found.samples["run"] == row["run"]]
    cost = samples["cost"].astype(float)
    revision = row["revision"] if isinstance(row["revision"], str) else "read from files"
    # The rules have none.
    rubric = row["judge_prompt"] if isinstance(row["judge_prompt"], str) else ""
    temperature, most = (_setting(row[name]) for name in ("temperature", "max_tokens"))
    told = {
        "model": row["model"],
        "arm": row["arm"],
        "set": f"{row['prompt_set']}, {revision}",
        "prompts": f"{row['samples']:,} of {row['planned']:,}",
        "judge": row["judge"],
        "judge prompt": f"{rubric} {_short(row['judge_prompt_sha256'])}",
        "data": _short(row["data_sha256"]),
        "what was asked": _short(row["composed_sha256"]),
        "decoding": f"temperature {temperature}, {most} tokens",
        "tokens": f"{samples['tokens'].sum():,.0f}",
        "time": duration(samples["seconds"].sum()),
        "dollars": "" if cost.isna().all() else f"{cost.sum():.2f}",
        "versions": f"orbench_inspect {row['package']}, Inspect {row['inspect']}",
        "started": str(row["created"]),
        "status": row["status"],
        "log": str(row["file"]).rpartition("/")[2]
        + (f" and {row['shards'] - 1} more shards" if row["shards"] > 1 else ""),
    }
    return {name: plain(value).strip() for name, value in told.items()}


def _short(sha: object) -> str:
    return str(sha)[:12] if isinstance(sha, str) else ""


def _setting(value: Any) -> str:
    return "by default" if pd.isna(value) else f"{value:.10g}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def without_folders(note: str) -> str:
    """A note without the folders of whoever made the report: a page is passed on."""
    return plain(re.sub(r"\S*/([^/\s]+\.(?:eval|json))", r"\1", note))


def without_quotes(note: str) -> str:
    """A note without the words it quotes: a run's error, or (in older logs) a model's reply."""
    return re.sub(r"(: status \w+): .*|, and replied .*", r"\1", note, flags=re.DOTALL)


def warnings(found: Overview) -> list[str]:
    """The warnings that runs gave when they ran, each once, with who gave it."""
    by_text: dict[str, list[str]] = {}
    several = found.arms["group"].nunique() > 1
    for _, row in found.arms.iterrows():
        arm = f"{row['group']} · {row['arm']}" if several else row["arm"]
        for warning in row["warnings"]:
            by_text.setdefault(warning, []).append(f"{arm} on {row['prompt_set']}")
    total = len(found.arms)
    return [
        f"{', '.join(who) if len(who) <= 3 else f'{len(who)} of {total} runs'}: {text}"
        for text, who in by_text.items()
    ]


def corrected(row: Any, shown: Callable[[float], str]) -> str | None:
    """The rate or difference corrected for the judge's error, where that was measured."""
    if "corrected" not in row or pd.isna(row["corrected"]):
        return None
    limits = {"lower": row["corrected_lower"], "upper": row["corrected_upper"]}
    return f"{shown(row['corrected'])} {interval(limits, shown)}"
