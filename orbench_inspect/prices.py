"""What calls cost: prices, which Inspect ships none of, and what is assumed of tokens."""

from collections.abc import Mapping
from math import inf
from pathlib import Path

from inspect_ai.model import ModelCost, ModelUsage, compute_model_cost
from pydantic import ValidationError

from orbench_inspect.yaml_files import read_yaml

CHARACTERS_A_TOKEN = 4
ANSWER_TOKENS = 400
"""Assumed tokens of a response: twice what three models of 2023 wrote on XSTest."""
LABEL_TOKENS = 60
"""Assumed tokens of a verdict or vote: a sentence and a label."""


def dollars(
    prices: Mapping[str, ModelCost], model: str, tokens_in: int, tokens_out: int
) -> float | None:
    """What tokens cost, all input at the full price; None where the model has no price."""
    if model not in prices:
        return None
    usage = ModelUsage(input_tokens=tokens_in, output_tokens=tokens_out)
    return compute_model_cost(prices[model], usage)


def read_prices(path: Path) -> dict[str, ModelCost]:
    """Read prices, in the format of Inspect's `--model-cost-config`.

    Raises:
        ValueError: If the file cannot be read, naming the model whose prices are wrong.
    """
    prices = {}
    for name, price in read_yaml(path, "prices", "name models, each with its prices").items():
        try:
            found = prices[str(name)] = ModelCost.model_validate(price)
            wrong = sorted(price.keys() - ModelCost.model_fields.keys())
            wrong += [key for key, dollars in found if not 0 <= dollars < inf]
        except ValidationError as ex:
            wrong = [".".join(map(str, e["loc"])) or "all" for e in ex.errors()]
        if wrong:
            raise ValueError(
                f"{path}: {name}: {', '.join(wrong)} missing or wrong; give input, output, "
                "input_cache_write and input_cache_read in dollars per million tokens, 0 or more, "
                "and nothing else"
            )
    return prices
