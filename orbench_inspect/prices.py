"""Prices of models, which Inspect ships none of: read from a file in Inspect's own format."""

from pathlib import Path

import yaml
from inspect_ai.model import ModelCost
from pydantic import ValidationError

from orbench_inspect.text_files import read_text


def read_prices(path: Path) -> dict[str, ModelCost]:
    """Read prices, in the format of Inspect's `--model-cost-config`.

    Raises:
        ValueError: If the file cannot be read, naming the model whose prices are wrong.
    """
    try:
        given = yaml.safe_load(read_text(path, "prices"))
    except yaml.YAMLError as ex:
        raise ValueError(f"{path}: not YAML or JSON ({ex})") from ex
    if not isinstance(given, dict):
        raise ValueError(f"{path}: must name models, each with its prices")
    prices = {}
    for name, price in given.items():
        try:
            prices[str(name)] = ModelCost.model_validate(price)
        except ValidationError as ex:
            wrong = ", ".join(".".join(map(str, e["loc"])) or "all" for e in ex.errors())
            raise ValueError(
                f"{path}: {name}: {wrong} missing or wrong; give input, output, input_cache_write "
                "and input_cache_read in dollars per million tokens"
            ) from ex
    return prices
