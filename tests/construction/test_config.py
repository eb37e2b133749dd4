"""Configurations: what is wrong with one, and what one will cost."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from orbench_inspect.cli import main
from orbench_inspect.construction.categories import TEN_CATEGORIES
from orbench_inspect.construction.config import load_config
from orbench_inspect.construction.estimate import estimate
from orbench_inspect.prices import read_prices

ROOT = Path(__file__).parents[2]


def written(folder: Path, **changes: Any) -> Path:
    config: dict[str, Any] = {
        "out": str(folder / "out"),
        "models": {
            "generator": "openai/gpt-4o",
            "moderators": ["openai/gpt-4o", "google/gemini-2.5-flash", "anthropic/claude-opus-4-8"],
            "answerer": "openai-api/local/mistral",
            "selectors": ["a/b", "c/d", "e/f"],
            "grader": "openai/gpt-4o-mini",
        },
        **changes,
    }
    path = folder / "set.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def test_defaults_are_the_papers(tmp_path: Path) -> None:
    config = load_config(written(tmp_path))
    assert config.categories == TEN_CATEGORIES
    assert (config.seeds.per_category, config.seeds.per_call, config.rewrites.per_seed) == (
        *(2000, 20, 5),
    )
    assert (config.seeds.temperature, config.rewrites.temperature) == (1.0, 0.7)
    assert config.hard.refused_by == 3
    calls = {(row.stage, row.role, row.model): row.calls for row in estimate(config)}
    assert calls["seeds", "generator", "openai/gpt-4o"] == 1_000
    assert calls["rewrite", "generator", "openai/gpt-4o"] == 20_000
    assert calls["moderate", "moderator", "google/gemini-2.5-flash"] == 101_200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": "x"}, "seed: Input should be a valid integer"),
        ({"sedes": {}}, "sedes: Extra inputs are not permitted"),
        ({"categories": ["illegal", "rude"]}, "no definition of rude"),
        ({"categories": {"none": "x"}}, "'none', which stands for no category"),
        ({"categories": {"a b": "x"}}, "a name is ASCII letters"),
        ({"categories": {"self-harm": "x", "self_harm": "y"}}, "differ only in case"),
        ({"hard": {"refused_by": 4}}, "there are 3 selectors: no prompt could be hard"),
        ({"near_duplicates": 2}, "near_duplicates"),
        ({"prompts": {"seeds": "sedes"}}, "unknown construction prompt 'sedes'; known: as_json"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        load_config(path)
    done = CliRunner().invoke(main, ["construct", str(path), "--dry-run"])
    assert done.exit_code == 2
    assert "Error: " in done.output


def test_models_are_checked(tmp_path: Path) -> None:
    config = yaml.safe_load(written(tmp_path).read_text())
    config["models"]["generator"] = {"model": "a/b", "args": {"api_key": "secret"}}
    with pytest.raises(ValueError, match="keys belong in the environment"):
        load_config(written(tmp_path, models=config["models"]))
    config["models"]["generator"] = {"model": "a/b", "config": {"temperatur": 1}}
    with pytest.raises(ValueError, match="unknown settings temperatur of generation"):
        load_config(written(tmp_path, models=config["models"]))
    config["models"]["generator"] = "a/b"
    config["models"]["grader"] = "c/d"
    with pytest.raises(ValueError, match="would judge its own responses"):
        load_config(written(tmp_path, models=config["models"]))
    del config["models"]["grader"]
    with pytest.raises(ValueError, match=r"models\.grader is required, or hard\.by: matcher"):
        load_config(written(tmp_path, models=config["models"]))


def test_structured_output_is_asked_for_where_the_provider_has_it(tmp_path: Path) -> None:
    models = load_config(written(tmp_path)).models
    assert models.generator.returns_json
    assert not models.answerer.returns_json


def test_a_cost_is_told_only_where_there_is_a_price(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    price = {"input": 2, "output": 8, "input_cache_write": 0, "input_cache_read": 1}
    prices.write_text(json.dumps({"openai/gpt-4o": price}))
    rows = estimate(load_config(written(tmp_path)))
    known = read_prices(prices)
    for row in rows:
        cost = row.cost(known)
        if row.model != "openai/gpt-4o":
            assert cost is None
        else:
            tokens = row.left * (2 * row.input_tokens + 8 * row.output_tokens)
            assert cost == pytest.approx(tokens / 1e6)
    prices.write_text('{"openai/gpt-4o": {"input": 2}}')
    with pytest.raises(ValueError, match="openai/gpt-4o: output, input_cache_write"):
        read_prices(prices)


@pytest.mark.parametrize("wrong", [{"input": -1}, {"output": float("nan")}, {"reasoning": 4}])
def test_a_price_that_cannot_be_one_is_refused(tmp_path: Path, wrong: dict[str, float]) -> None:
    prices = tmp_path / "prices.json"
    price = {"input": 2, "output": 8, "input_cache_write": 0, "input_cache_read": 1, **wrong}
    prices.write_text(json.dumps({"m/m": price}).replace("NaN", ".nan"))
    with pytest.raises(ValueError, match=f"m/m: {next(iter(wrong))} missing or wrong"):
        read_prices(prices)


@pytest.mark.parametrize("name", ["construct", "construct_embedded"])
def test_the_examples_are_valid(name: str) -> None:
    config = load_config(ROOT / "evals" / f"{name}.yaml")
    assert len(config.models.moderators) == 3
