"""Runs with a cache: it keeps no provider refusal, so a run from it asks again what was blocked."""

from collections import Counter
from collections.abc import Mapping, Sequence

from inspect_ai.event import ModelEvent
from pydantic import JsonValue

from orbench_inspect.scoring.run_record import RunRecord
from orbench_inspect.scoring.words import PROVIDER_REFUSAL


def note_cached(events: Sequence[ModelEvent], run: RunRecord) -> None:
    """Note whether a sample's response came from a cache, if there was one.

    Args:
        events: The sample's model calls.
        run: The record of its run.
    """
    used = [event.cache for event in events if event.role is None]
    if any(used):
        run.cached["read" if set(used) == {"read"} else "asked"] += 1


def count_cached(run: RunRecord) -> None:
    """Record what came from a cache, and warn where that and provider refusals meet."""
    if not run.cached:
        return
    blocked = Counter(run.causes.values())[PROVIDER_REFUSAL]
    read, asked = run.cached["read"], run.cached["asked"]
    run.record["cache"] = {"read": read, "asked": asked, PROVIDER_REFUSAL: blocked}
    run.warnings += drift(run.record)
    if blocked and not read:
        run.warnings.append(
            f"{blocked} provider refusals in a run with a cache, which keeps none: another run "
            "from this cache would ask them again, and take the rest from it. The first attempt "
            "counts, and it is in this log"
        )


def drift(record: Mapping[str, JsonValue]) -> list[str]:
    """Warn of a run that came from a cache in part.

    Args:
        record: The record of the run.
    """
    told = record.get("cache")
    if not isinstance(told, dict) or not told["read"] or not told["asked"]:
        return []
    return [
        f"{told['read']} responses came from a cache and {told['asked']} were asked now, with "
        f"{told[PROVIDER_REFUSAL]} provider refusals: a cache keeps none, so whatever a filter "
        "blocked in an earlier run was asked again. The first attempt counts: quote the earlier "
        "run, or run without a cache"
    ]
