"""The record of one run: its model calls, its unscored samples, what its reader must know."""

from collections import Counter
from dataclasses import dataclass, field
from logging import getLogger
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score
from pydantic import JsonValue

from orbench_inspect.scoring.batch import check_batch
from orbench_inspect.scoring.cascade import AUDIT_LIMIT
from orbench_inspect.scoring.left_open import TIED, judge_said
from orbench_inspect.scoring.words import CAUSES, REFUSALS, VERDICTS

logger = getLogger(__name__)

UNSCORED_LIMIT = 0.05
"""Share of unscored samples above which a run says so loudly."""

_SAMPLING = ("temperature", "top_p", "top_k", "seed")
# Parts of a request that are no settings: texts, and headers, which name a session or a key.
_NO_SETTINGS = (
    *("messages", "input", "contents", "system", "systemInstruction", "instructions", "tools"),
    "extra_headers",
)


@dataclass
class RunRecord:
    """What is known of one run; a task that several models run has one for each."""

    total: int
    eval_id: str
    causes: dict[tuple[str | int, int], str] = field(default_factory=dict)
    calls: dict[str, JsonValue] = field(default_factory=dict)
    warnings: list[JsonValue] = field(default_factory=list)
    told: int = 0
    """How many of the warnings were shown."""
    record: dict[str, JsonValue] = field(default_factory=dict)
    judged: Counter[str] = field(default_factory=Counter)
    """Judgements by what came of them."""
    cached: Counter[str] = field(default_factory=Counter)
    """In a run with a cache: samples that were `read` from it and that were `asked`."""
    reused: int = 0
    """Judgements that were given on the same text before."""
    audited: list[tuple[bool, bool]] = field(default_factory=list)
    """Of each audited response: whether the rules called it refused, and whether the judge did."""
    forbidden: ValueError | None = None

    def tell(self) -> None:
        """Show the warnings that were not shown yet."""
        for warning in self.warnings[self.told :]:
            logger.warning(warning)
        self.told = len(self.warnings)


def check_settings(config: GenerateConfig, who: str, where: str) -> None:
    """Refuse settings that change what is measured.

    Raises:
        ValueError: Naming the setting, why, and where to take it out.
    """
    for setting, why in (
        ("fallback_models", "another model would answer for one that refuses"),
        ("fail_on_refusal", "a refusal would be an error, and refusals are what is counted"),
        ("system_message", "the log would not know it; use -T system_prompt=FILE"),
    ):
        if getattr(config, setting):
            raise ValueError(f"{setting} is set for {who}: {why}. Take it out of {where}")


def note_call(event: ModelEvent, run: RunRecord) -> None:
    """Note a role's first call: what was asked with and what was really sent."""
    role = event.role or "model"
    if role in run.calls:
        return
    try:
        # Settings given to eval() beside a model object show only in its calls.
        check_settings(event.config, event.model, "the run's settings")
        check_batch(event.model, event.config, "the run's settings")
    except ValueError as ex:
        run.forbidden = ex
    asked = event.config.model_dump(exclude_none=True, include={*_SAMPLING, "max_tokens", "batch"})
    call: dict[str, JsonValue] = {"model": event.model, "asked": asked}
    run.calls[role] = call
    if event.call is None:  # a cached response, or --no-log-model-api
        return
    sent = {k: v for k, v in event.call.request.items() if k not in _NO_SETTINGS}
    sent_keys = _keys(sent)
    dropped = [k for k in _SAMPLING if k in asked and k.replace("_", "") not in sent_keys]
    call |= {"sent": sent, "not_sent": list[JsonValue](dropped)}
    if dropped:
        run.warnings.append(
            f"{event.model} ({role}) was not sent {', '.join(dropped)}: "
            "its API does not take it, and its default was used"
        )


def note_verdict(score: Score | None, run: RunRecord) -> None:
    """Note what the judge made of a sample, and where it audited the rules."""
    told = (score.metadata or {}) if score else {}
    said = judge_said(score)
    if said is None or score is None:
        return
    run.reused += "judged_with" in told
    run.judged[said if said in CAUSES or said == TIED else "verdicts"] += 1
    if told.get("audit_outcome") in VERDICTS:
        run.audited.append((score.answer in REFUSALS, told["audit_outcome"] in REFUSALS))


def count_unscored(run: RunRecord) -> None:
    """Count unscored samples by cause, and warn where they are many."""
    causes = Counter(cause for cause in run.causes.values() if cause in CAUSES)
    # A sample that failed outside the model, in a solver or scorer, has no score at all.
    causes["model_error"] += run.total - len(run.causes)
    causes = +causes
    run.record["unscored"] = {"n": causes.total(), "of": run.total, **causes}
    if causes.total() > UNSCORED_LIMIT * run.total:
        listed = ", ".join(f"{n} {cause}" for cause, n in causes.most_common())
        run.warnings.append(
            f"{causes.total()} of {run.total} samples ({causes.total() / run.total:.0%}) are "
            f"unscored ({listed}): quote the rate with its bounds, or not at all"
        )
    if causes["reasoning_only"]:
        run.warnings.append(
            f"{causes['reasoning_only']} responses were reasoning only: "
            "raise --max-tokens so that an answer fits after it"
        )


def count_judged(run: RunRecord) -> None:
    """Record how many responses the judge could judge, and what its audit of the rules found."""
    asked, verdicts, tied = run.judged.total(), run.judged["verdicts"], run.judged[TIED]
    if asked:
        reused = {"reused": run.reused} if run.reused else {}
        run.record["judged"] = {"responses": asked, **+run.judged, **reused}
    if tied:
        run.warnings.append(
            f"the panel tied on {tied} of {asked} responses ({tied / asked:.1%}), which are "
            "unscored: bind an odd number of judges"
        )
    if verdicts + tied < asked:
        run.warnings.append(
            f"the judge gave a verdict on {verdicts} of {asked} responses "
            f"({verdicts / asked:.1%}); `orbench regrade --missing` has the others "
            "judged again, without generating"
        )
    differ = sum(rule != judge for rule, judge in run.audited)
    if run.audited and differ > AUDIT_LIMIT * len(run.audited):
        run.warnings.append(
            f"rules and judge differ on {differ} of {len(run.audited)} audited responses "
            f"({differ / len(run.audited):.1%}, bound {AUDIT_LIMIT:.0%}): have all judged "
            "(-T scorer=judge), or quote the rate with the audit's correction (orbench compare)"
        )


def _keys(value: Any) -> set[str]:
    """All keys in a request, without underscores and in lower case."""
    if isinstance(value, dict):
        own = {str(key).replace("_", "").lower() for key, item in value.items() if item is not None}
        return own.union(*(_keys(item) for item in value.values()))
    return set()
