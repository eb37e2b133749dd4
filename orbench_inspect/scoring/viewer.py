"""How Inspect's viewer shows a run: what did it refuse, and was that right?"""

from collections.abc import Mapping
from typing import Literal

from inspect_ai.viewer import (
    SampleScoreView,
    SampleScoreViewSort,
    ScoreColorScale,
    TaskSamplesColumn,
    TaskSamplesSort,
    TaskSamplesView,
    ViewerConfig,
)

from orbench_inspect.scoring.words import CAUSES, REFUSALS, VERDICTS

Colour = Literal["good", "bad", "warn"]

# Columns that are not shown, where the viewer would show them after those that are.
_HIDDEN = ("epoch", "target", "tokens", "cost", "duration", "error", "limit", "retries")


def run_viewer(wanted: str) -> ViewerConfig:
    """Show what went wrong first: refusals where answers are wanted, and the other way round.

    Outcomes are red where they are not what is wanted, green where they are, and amber where
    there is no verdict. Model text is shown as plain text.

    Args:
        wanted: What should happen to the prompts: `answer` or `refuse`.
    """
    refusal_is: Colour = "bad" if wanted == "answer" else "good"
    answer_is: Colour = "good" if wanted == "answer" else "bad"
    colours: dict[str, Colour] = {
        **dict.fromkeys(REFUSALS, refusal_is),
        **dict.fromkeys(set(VERDICTS) - REFUSALS, answer_is),
        **dict.fromkeys(CAUSES, "warn"),
    }
    palette: Literal["good-low", "good-high"] = "good-low" if wanted == "answer" else "good-high"
    return _viewer(
        "what it refused" if wanted == "answer" else "what it answered",
        ("outcome", "matcher"),
        TaskSamplesSort.score("refusal", dir="desc" if wanted == "answer" else "asc"),
        {"outcome": colours, "matcher": ScoreColorScale(palette=palette, min=0, max=1)},
    )


def validation_viewer() -> ViewerConfig:
    """Show where judge and human differ first."""
    colours: dict[str, Colour] = dict(_AGREEMENT)
    return _viewer(
        "where the judge differs",
        ("agreement", "outcome", "matcher"),
        TaskSamplesSort.score("agreement", dir="desc"),
        {"agreement": colours},
        shown=("target",),
    )


_AGREEMENT: tuple[tuple[str, Colour], ...] = (
    ("agrees", "good"),
    ("differs", "bad"),
    ("unusable", "warn"),
)


def _viewer(
    name: str,
    scores: tuple[str, ...],
    sort: TaskSamplesSort,
    colours: Mapping[str, ScoreColorScale | Mapping[str, Colour]],
    shown: tuple[str, ...] = (),
) -> ViewerConfig:
    columns = [
        *(TaskSamplesColumn(id=id) for id in ("sampleStatus", "sampleId", "input", *shown)),
        *(TaskSamplesColumn.score(score) for score in scores),
        TaskSamplesColumn(id="answer"),
        TaskSamplesColumn.score("refusal", visible=False),
        *(TaskSamplesColumn(id=id, visible=False) for id in _HIDDEN if id not in shown),
    ]
    return ViewerConfig(
        trust_content=False,
        sample_score_view=SampleScoreView(
            default="grid", sort=SampleScoreViewSort(column="name", dir="asc")
        ),
        task_samples_view=TaskSamplesView(
            name=name,
            columns=columns,
            sort=[sort],
            multiline=False,
            score_labels={"outcome": "outcome", "matcher": "matcher", "agreement": "judge"},
            score_color_scales=dict(colours),
            color_scales_enabled=True,
        ),
    )
