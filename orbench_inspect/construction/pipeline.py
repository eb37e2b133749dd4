"""All stages in order: what is finished is read from its logs, and the rest is asked."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog, read_eval_log_sample, read_eval_log_sample_summaries
from inspect_ai.model import GenerateConfig, Model, get_model

from orbench_inspect.construction.candidates import candidates
from orbench_inspect.construction.config import Config, ModelSpec
from orbench_inspect.construction.draw import draw
from orbench_inspect.construction.moderate import moderate, moderation_inputs
from orbench_inspect.construction.rewrite import made_rewrites, rewrite, rewrite_inputs
from orbench_inspect.construction.second_chance import second_chance, second_chance_inputs
from orbench_inspect.construction.seeds import made_seeds, next_round, seeds
from orbench_inspect.construction.select import select_hard
from orbench_inspect.construction.stage import CONFIG_FILE, SET_ID_FILE, cached
from orbench_inspect.construction.trail import (
    STAGES,
    Item,
    finished,
    given,
    log_folder,
    read_shard,
    replace_text,
    shard_file,
    shards,
    write_shard,
    write_shards,
)

TASKS: dict[str, Callable[..., Task]] = {
    "seeds": seeds,
    "rewrite": rewrite,
    "moderate": moderate,
    "second_chance": second_chance,
    "select_hard": select_hard,
}

ROLES = {
    "seeds": ("generator",),
    "rewrite": ("generator",),
    "moderate": ("moderator",),
    "second_chance": ("answerer", "moderator"),
    "select_hard": ("selector", "grader"),
}
"""The models each stage asks, and no others: another selector leaves the votes valid."""

Tell = Callable[[str], None]


def run_stages(config: Config, config_file: Path, stop_after: str | None, tell: Tell) -> None:
    """Run all stages, or what is left of them.

    Args:
        config: The configuration.
        config_file: Its file, which is copied beside the logs.
        stop_after: The last stage to run; None for all.
        tell: Told a line of progress now and then.

    Raises:
        ValueError: If a stage failed, or the folder holds logs of another configuration.
    """
    out = Path(config.out)
    prepare(out, config_file)
    for stage in STAGES:
        began = time.monotonic()
        if stage == "seeds":
            asked = _run_seeds(config, out, tell)
        else:
            asked = _run_stage(config, out, stage, tell)
        tell(f"{stage}: {asked:,} samples finished ({time.monotonic() - began:,.0f} s)")
        if stage == stop_after:
            return


def check_models(config: Config) -> None:
    """Make all models known to Inspect, so that a missing key is told before anything is asked.

    Raises:
        ValueError: Naming the role and the model.
    """
    for role, specs in config.roles.items():
        for spec in specs:
            try:
                _model(spec)
            except Exception as ex:
                raise ValueError(f"{role} {spec.model}: {ex}") from ex


def prepare(out: Path, config_file: Path) -> None:
    """Make the folder of a construction: its configuration, and an id that never changes."""
    out.mkdir(parents=True, exist_ok=True)
    copy = out / CONFIG_FILE
    if config_file.resolve() != copy.resolve():
        shutil.copyfile(config_file, copy)
    if not (out / SET_ID_FILE).is_file():
        replace_text(out / SET_ID_FILE, str(uuid4()))


def stage_inputs(config: Config, out: Path, stage: str) -> Iterator[Item]:
    """What a stage is given, read from the logs of the stages before it."""
    made = (item for item in made_seeds(config, out) if isinstance(item, Item))
    if stage == "rewrite":
        return rewrite_inputs(config, made)
    if stage == "moderate":
        return moderation_inputs(config, made, made_rewrites(config, out))
    if stage == "second_chance":
        return second_chance_inputs(finished(out, "moderate"))
    safe = (c.item for c in candidates(out, selected=False) if c.is_safe_rewrite)
    if config.hard.candidates is None:
        return safe
    pool = {item.id: item.category for item in safe}
    drawn = draw(pool, config.seed, size=config.hard.candidates)
    return (item for item in given(out, "moderate") if item.id in drawn)


def _run_seeds(config: Config, out: Path, tell: Tell) -> int:
    asked = number = 0
    while calls := next_round(config, out, number + 1):
        number += 1
        write_shard(out, "seeds", number, calls)
        asked += _run_shard(config, out, "seeds", number)
        tell(f"seeds: round {number}, {len(calls):,} calls")
    _no_more_shards(out, "seeds", number)
    return asked


def _run_stage(config: Config, out: Path, stage: str, tell: Tell) -> int:
    asked = last = 0
    began = time.monotonic()
    for last in write_shards(out, stage, stage_inputs(config, out, stage), config.shard):
        asked += _run_shard(config, out, stage, last)
        rate = asked / (time.monotonic() - began)
        tell(f"{stage}: {asked:,} samples, {rate:,.1f} a second")
    _no_more_shards(out, stage, last)
    return asked


def _run_shard(config: Config, out: Path, stage: str, shard: int) -> int:
    folder = log_folder(out, stage, shard)
    try:
        done, logs = eval_set(
            [TASKS[stage](str(out), shard)],
            log_dir=str(folder),
            model="none/none",
            model_roles={role: list(m) for role, m in _roles(config, out, stage).items()},
            max_samples=config.max_samples,
            score_display=False,
            retry_attempts=1,
        )
    except Exception as ex:
        if "not associated with a task" not in str(ex):
            raise
        raise ValueError(_other_configuration(folder)) from ex
    if not done:
        raise ValueError(
            f"{stage}, shard {shard}: {_why_not_done(logs)}\n"
            "What was answered is kept: the same command asks only what is missing"
        )
    return len(read_shard(shard_file(out, stage, shard))[0])


def _why_not_done(logs: list[EvalLog]) -> str:
    for log in logs:
        failed = [s for s in read_eval_log_sample_summaries(log.location) if s.error]
        if failed:
            first = read_eval_log_sample(log.location, failed[0].id, failed[0].epoch)
            # Inspect quotes the whole request first; what went wrong stands in the last line.
            said = first.error.message.strip().rpartition("\\n")[2] if first.error else ""
            shown = "".join(c if c.isprintable() else " " for c in said[-300:])
            return f"{len(failed)} samples failed, such as with: {shown}"
        if log.error is not None:
            return log.error.message
    return "not finished"


def _roles(config: Config, out: Path, stage: str) -> dict[str, list[Model]]:
    roles = {role: [_model(spec) for spec in config.roles[role]] for role in ROLES[stage]}
    if "grader" in roles:
        # The judge is asked by the scorer, which knows no cache: its binding carries one.
        judge = GenerateConfig(cache=cached(str(out)))
        roles["grader"] = [_model(spec, judge) for spec in config.roles["grader"]]
    return {role: models for role, models in roles.items() if models}


def _model(spec: ModelSpec, config: GenerateConfig | None = None) -> Model:
    own = GenerateConfig.model_validate(spec.config)
    return get_model(
        spec.model,
        config=(config or GenerateConfig()).merge(own),
        base_url=spec.base_url,
        **spec.args,
    )


def _no_more_shards(out: Path, stage: str, last: int) -> None:
    if any(shard > last for shard in shards(out, stage)):
        raise ValueError(_other_configuration(out / "logs" / stage))


def _other_configuration(folder: Path) -> str:
    return (
        f"{folder} holds logs of another configuration: a text, a model, a parameter of this stage "
        "or what an earlier stage made has changed since. Results of both are never mixed: "
        "take a new `out`, or go back to the configuration that made them"
    )
