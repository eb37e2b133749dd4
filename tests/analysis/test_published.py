"""The paper's results: the data are those that were printed, and are shown for what they are."""

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import spearmanr

from orbench_inspect.analysis.published import CATEGORIES, CURVE, published, published_model
from orbench_inspect.cli import main


def test_spearmans_correlation_is_the_published_one() -> None:
    both = [(m.hard, m.toxic) for m in published()]
    assert len(both) == 32
    assert spearmanr(both).statistic == pytest.approx(0.893, abs=0.0005)
    early = [(m.hard, m.toxic) for m in published() if m.early]
    assert len(early) == 25
    assert spearmanr(early).statistic == pytest.approx(0.878, abs=0.0005)


def test_the_curve_is_the_fit_over_all_points() -> None:
    fit = np.polynomial.polynomial.polyfit(
        [m.hard for m in published()], [m.toxic for m in published()], 2
    )
    assert fit == pytest.approx(CURVE, rel=1e-4)


def test_every_model_has_every_category_and_its_set() -> None:
    for model in published():
        assert tuple(model.hard_by_category) == tuple(model.toxic_by_category) == CATEGORIES
        assert (model.hard_prompts, model.toxic_prompts) in {(1534, 681), (1319, 655)}
        assert 0 <= min(model.hard_by_category.values()) <= model.hard
        assert model.hard <= max(model.hard_by_category.values()) <= 100
    assert sum(m.full is not None for m in published()) == 20


def test_models_that_made_the_sets_are_marked() -> None:
    assert sum(m.moderated for m in published()) == 3
    assert sum(m.selected for m in published()) == 6
    assert published_model("llama-3-70B").role == "moderated and selected hard prompts"


def test_a_model_is_shown_with_what_its_numbers_cannot_be_compared_with() -> None:
    done = CliRunner().invoke(main, ["published", "--model", "claude-3-opus"])
    assert done.exit_code == 0
    assert "sexual" in done.output
    assert "1,534 hard and 681 toxic prompts, earlier ones" in done.output
    assert "It selected hard prompts." in " ".join(done.output.split())
    done = CliRunner().invoke(main, ["published"])
    assert len([line for line in done.output.splitlines() if "/6" in line]) == 32
    assert max(map(len, done.output.splitlines())) <= 100


def test_an_unknown_model_is_answered_with_the_known_ones() -> None:
    done = CliRunner().invoke(main, ["published", "--model", "gpt-9"])
    assert done.exit_code == 2
    assert "no published results of 'gpt-9'; there are those of: Claude-2.1" in done.output
