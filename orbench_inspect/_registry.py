# ruff: noqa: F401
"""What Inspect finds under `orbench_inspect/…`: every component, imported and nothing more."""

from orbench_inspect.local_model import orbench
from orbench_inspect.mitigations.solver import mitigation
from orbench_inspect.scoring.cascade import audit
from orbench_inspect.scoring.matcher import matcher
from orbench_inspect.scoring.metrics import (
    category_rate,
    macro_rate,
    refusal_rate,
)
from orbench_inspect.scoring.outcome import (
    category_n,
    model_only_rate,
    outcome,
    outcomes,
    panel_alpha,
)
from orbench_inspect.scoring.refusal import refusal
from orbench_inspect.scoring.validation import agreement, agreement_measures, replay
from orbench_inspect.tasks import custom, full, hard, judge_validation, toxic
