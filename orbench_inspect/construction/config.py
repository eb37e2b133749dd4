"""The configuration of a construction: which models, how many prompts, under which rules."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from inspect_ai.model import GenerateConfig
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from orbench_inspect.construction.categories import NONE, TEN_CATEGORIES
from orbench_inspect.text_files import TextFile, load_text_file
from orbench_inspect.yaml_files import read_yaml, wrong_fields

PROMPTS = Path(__file__).parent / "prompts"

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]

# Providers that hold a reply to a JSON schema; with others a list is asked for.
_STRUCTURED = (
    *("openai", "azureai", "anthropic", "google", "mistral", "grok", "groq"),
    *("vllm", "sglang", "openrouter", "together", "fireworks"),
)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _named(value: object) -> object:
    return {"model": value} if isinstance(value, str) else value


class ModelSpec(_Part):
    """A model: its name alone, or with settings of its own."""

    model: str = Field(pattern=r"^[^/\s]+/\S+$")
    """Provider and name, as Inspect knows them."""
    base_url: str | None = None
    args: dict[str, Any] = {}
    """Arguments of the provider, as with `-M`."""
    config: dict[str, Any] = {}
    """Inspect's `GenerateConfig`: comes before a stage's temperature and max_tokens."""
    structured: bool | None = None
    """Whether it can be held to a JSON schema; by default told from its provider."""

    @field_validator("config")
    @classmethod
    def _known_settings(cls, config: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(config.keys() - GenerateConfig.model_fields.keys())
        if unknown:
            raise ValueError(f"unknown settings {', '.join(unknown)} of generation")
        GenerateConfig.model_validate(config)
        return config

    @field_validator("args")
    @classmethod
    def _no_key(cls, args: dict[str, Any]) -> dict[str, Any]:
        if "api_key" in args:
            raise ValueError("api_key: keys belong in the environment, not in a file that is kept")
        return args

    @property
    def returns_json(self) -> bool:
        """Whether items are asked for as structured output."""
        if self.structured is not None:
            return self.structured
        return self.model.partition("/")[0] in _STRUCTURED


Spec = Annotated[ModelSpec, BeforeValidator(_named)]


class Models(_Part):
    """The models by role."""

    generator: Spec
    moderators: Annotated[list[Spec], Field(min_length=1)]
    answerer: Spec
    """Without a safety layer: it answers what was voted toxic."""
    selectors: Annotated[list[Spec], Field(min_length=1)]
    grader: Spec | None = None
    """The judge of the selectors' responses."""


class Seeds(_Part):
    """How seeds are made."""

    per_category: Count = 2000
    per_call: Count = 20
    max_rounds: Count = 10
    """Calls that brought too few are made up for in another round, so many times at most."""
    temperature: Temperature = 1.0
    max_tokens: Count = 2000


class Rewrites(_Part):
    """How rewrites are made."""

    per_seed: Count = 5
    temperature: Temperature = 0.7
    max_tokens: Count = 1000


class Moderation(_Part):
    """How moderators vote."""

    temperature: Temperature = 0.0
    max_tokens: Count = 1000


class SecondChance(_Part):
    """How prompts that were voted toxic are answered."""

    temperature: Temperature = 0.0
    max_tokens: Count = 1000


class Hard(_Part):
    """How hard prompts are selected."""

    refused_by: Count = 3
    """Selectors that must refuse."""
    by: Literal["judge", "matcher"] = "judge"
    judge_prompt: str = "strict"
    candidates: Count | None = None
    """Safe prompts that selectors are asked, drawn by seed; all by default."""
    size: Count | None = None
    """Hard prompts kept, drawn by seed in proportion to categories; all by default."""
    temperature: Temperature = 0.0
    max_tokens: Count = 1000


class Toxic(_Part):
    """How toxic prompts are selected."""

    per_category: Count = 60
    """Toxic prompts kept of each category, drawn by seed from the unanimous ones."""
    seeds_per_category: Annotated[int, Field(ge=0)] = 120
    """Seeds of each category put before the moderators to be candidates."""


class Prompts(_Part):
    """Texts by name, or files of one's own."""

    seeds: str = "seeds"
    rewrite: str = "rewrite"
    moderate: str = "moderate"
    moderate_answer: str = "moderate_answer"
    as_list: str = "as_list"
    as_json: str = "as_json"


class Config(_Part):
    """A construction, as its YAML file describes it."""

    out: str
    """Folder of logs and product."""
    models: Models
    categories: dict[str, str] = TEN_CATEGORIES
    """Names and definitions."""
    seed: int = 42
    """Of every draw; a model's own randomness is its own."""
    seeds: Seeds = Seeds()
    rewrites: Rewrites = Rewrites()
    moderation: Moderation = Moderation()
    second_chance: SecondChance = SecondChance()
    hard: Hard = Hard()
    toxic: Toxic = Toxic()
    prompts: Prompts = Prompts()
    near_duplicates: Share | Literal[False] = 0.7
    """Estimated Jaccard similarity from which a rewrite is dropped for an earlier one; `false`
    keeps near duplicates, as the paper did."""
    published: str | None = None
    """Folder with OR-Bench's files, to compare new prompts with their texts too."""
    shard: Annotated[int, Field(ge=1, le=8000)] = 2000
    """Samples of one log."""
    max_samples: Count = 100
    """Samples at once: all that a kill can interrupt."""

    @field_validator("categories", mode="before")
    @classmethod
    def _of_the_ten(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        unknown = [name for name in value if name not in TEN_CATEGORIES]
        if unknown:
            raise ValueError(
                f"no definition of {', '.join(map(str, unknown))}: write categories as "
                f"'name: definition', or name some of {', '.join(TEN_CATEGORIES)}"
            )
        return {name: TEN_CATEGORIES[name] for name in value}

    @field_validator("categories")
    @classmethod
    def _usable_names(cls, categories: dict[str, str]) -> dict[str, str]:
        if not categories:
            raise ValueError("name at least one category")
        for name, sentence in categories.items():
            plain = name.replace("-", "").replace("_", "")
            if not (plain.isascii() and plain.isalnum()) or name.lower() == NONE:
                raise ValueError(
                    f"category {name!r}: a name is ASCII letters, digits, - and _, "
                    f"and not '{NONE}', which stands for no category"
                )
            if not sentence.strip():
                raise ValueError(f"category {name!r} has no definition")
        folded = {name.lower().replace("-", "_") for name in categories}
        if len(folded) < len(categories):
            raise ValueError("two categories differ only in case or in - and _")
        return categories

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.hard.refused_by > len(self.models.selectors):
            raise ValueError(
                f"hard.refused_by is {self.hard.refused_by}, and there are "
                f"{len(self.models.selectors)} selectors: no prompt could be hard"
            )
        if self.hard.by == "judge" and self.models.grader is None:
            raise ValueError("models.grader is required, or hard.by: matcher")
        selectors = [spec.model for spec in self.models.selectors]
        if any(spec.model in selectors for spec in self.roles["grader"]):
            raise ValueError(
                "models.grader is a selector too and would judge its own responses: bind another"
            )
        return self

    @property
    def roles(self) -> dict[str, list[ModelSpec]]:
        """The models by Inspect's names of their roles; the grader only where it is asked."""
        models = self.models
        judged = models.grader is not None and self.hard.by == "judge"
        return {
            "generator": [models.generator],
            "moderator": models.moderators,
            "answerer": [models.answerer],
            "selector": models.selectors,
            "grader": [models.grader] if models.grader and judged else [],
        }

    def prompt(self, name: str) -> TextFile:
        """Load one of the texts.

        Raises:
            ValueError: If it is unknown or cannot be read.
        """
        return load_text_file(PROMPTS, "construction prompt", getattr(self.prompts, name))


def load_config(path: Path) -> Config:
    """Read and check a configuration.

    Raises:
        ValueError: Naming the file, and each field that is missing, unknown or wrong.
    """
    given = read_yaml(path, "configuration", "be 'key: value' lines, such as 'out: runs/mine'")
    try:
        config = Config.model_validate(given)
    except ValidationError as ex:
        problems = wrong_fields(ex, "configuration")
        raise ValueError(f"{path}:\n  " + "\n  ".join(problems)) from ex
    for name in Prompts.model_fields:
        config.prompt(name)
    return config
