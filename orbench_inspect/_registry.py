# ruff: noqa: F401
"""What Inspect finds under `orbench_inspect/…`: every component, imported and nothing more."""

from orbench_inspect.construction.generating import generate_items, items
from orbench_inspect.construction.moderate import moderate, votes
from orbench_inspect.construction.rewrite import rewrite
from orbench_inspect.construction.second_chance import answer, second_chance
from orbench_inspect.construction.seeds import seeds
from orbench_inspect.construction.select import refused_by, select_hard
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
