"""Which house a model is of: judges may be mild with their own kin."""

import re

_FAMILIES = {
    "OpenAI": r"\bopenai(?!-)\b|\bgpt\b|\bo[134]\b|chatgpt",
    "Anthropic": r"anthropic|claude",
    "Google": r"google|gemini|gemma|vertex",
    "Meta": r"\bmeta\b|llama(?!-?cpp)",
    "Mistral": r"mistral|mixtral|ministral|magistral",
    "Alibaba": r"qwen|qwq",
    "DeepSeek": r"deepseek",
    "xAI": r"grok|\bxai\b",
    "Cohere": r"cohere|command-r|command-a",
    "Microsoft": r"\bphi-?\d|\bwizardlm",
    "Hugging Face": r"smollm|zephyr",
}


def kin(judge: str, model: str) -> str | None:
    """What a reader must know of a judge that is of the evaluated model's house; None if not."""
    house = family(judge)
    if house is None or house != family(model):
        return None
    return f"the judge {judge} is of the evaluated model's house ({house}), and may be mild with it"


def family(model: str) -> str | None:
    """The house a model is of, told from its name; None where the name does not tell.

    The last part of the name says more than the service that serves it.
    """
    for part in (model.rpartition("/")[2], model):
        for house, pattern in _FAMILIES.items():
            if re.search(pattern, part, re.IGNORECASE):
                return house
    return None
