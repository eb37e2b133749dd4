"""What a plan's reader must know: assumptions, what a pilot told, what is not counted."""

from collections.abc import Mapping, Sequence

import pandas as pd
from inspect_ai.model import ModelCost

from orbench_inspect.prices import CHARACTERS_A_TOKEN
from orbench_inspect.scoring.batch import has_batch
from orbench_inspect.studies.pilot import Pilot
from orbench_inspect.studies.plan import WORD_TOKENS, Assumed
from orbench_inspect.studies.planned import Planned


def notes_on(
    tasks: Sequence[Planned],
    calls: pd.DataFrame,
    assumed: Assumed,
    prices: Mapping[str, ModelCost],
    pilot: Pilot | None,
) -> list[str]:
    """Say what a plan assumes, what it has from a pilot, and what it does not count.

    Args:
        tasks: What is planned.
        calls: From `plan_calls`.
        assumed: What it takes for granted.
        prices: Dollars per million tokens, by model.
        pilot: What was seen in place of it.
    """
    guessed = set(calls[calls["source"] == "assumed"]["role"])
    notes = list(pilot.notes) if pilot else []
    if pilot:
        missing = calls[calls["source"] == "assumed"]
        names = {
            f"{row['role']} {row['asked'] or '(not named)'} for {row['arm']} on {row['prompt_set']}"
            for _, row in missing.iterrows()
        }
        if names:
            told = "; ".join(sorted(names))
            notes.append(f"Not in the pilot, or without usage there, and so assumed: {told}.")
    if "model" in guessed:
        notes.append(
            f"Assumed of a response: {assumed.response_tokens:,} tokens (--response-tokens). Three "
            "models of 2023 wrote about 220 on XSTest; models that reason write far more."
        )
    if "judge" in guessed:
        notes.append(
            f"Assumed of a judge's reply: {assumed.grader_tokens:,} tokens (--grader-tokens); one "
            "that reasons writes far more."
        )
    if guessed:
        notes.append(
            f"Tokens in: {CHARACTERS_A_TOKEN} characters a token. By one small model's tokenizer "
            "the prompts have 5.5, responses 4.8, the judge prompt 4.3: up to 40% too many are "
            "counted for English, and too few for other scripts."
        )
        notes.append(f"Assumed of a call: {assumed.seconds:g} seconds (--seconds-per-call).")
    notes.append(
        f"Assumed: {assumed.connections} calls at once for each model (--connections), and limits "
        "as given (--requests-per-minute, --tokens-per-minute)."
    )
    methods = {task.composed.mitigation.method for task in tasks}
    if "model" in guessed and methods & {"route", "response_check"}:
        notes.append(
            "route and response_check: the longest way is counted (a second answer after each "
            f"review), and {WORD_TOKENS} tokens for a reply of one word."
        )
    if pilot and (seen := list(pilot.observed.values())):
        certain, among = sum(one.certain for one in seen), sum(one.samples for one in seen)
        notes.append(f"pilot: certain rules settle {certain} of {among} responses")
    if "model" in guessed:
        notes.append(
            f"Cascade: certain rules are taken to settle {assumed.certain:.0%} of responses "
            "(--certain-share); its audit is counted."
        )
    for name, found in (pilot.discordance if pilot else {}).items():
        notes.append(f"Discordance on {name}: {found.share:.1%} ({found.source}).")
    if {task.prompt_set for task in tasks} - (pilot.discordance if pilot else {}).keys():
        notes.append(
            f"Assumed: arm and baseline differ on {assumed.discordance:.1%} of prompts "
            "(--discordance), and all are scored in both."
        )
    notes.append(
        "Smallest difference: what one arm's test at 5% finds with 80% power; none: not even if "
        "all discordant prompts went one way. Power: to show not worse if nothing differs. orbench "
        "compare corrects for several arms (Holm), which takes more prompts. "
        "* what the script asks."
    )
    notes.append(
        f"Batch: {assumed.batch_price:.0%} of the price (--batch-price), each call within "
        f"{assumed.batch_hours:g} hours (--batch-hours), all samples under way at once "
        "(--max-samples, max_tasks). Inspect's --batch reaches the evaluated model only; the judge "
        "needs grader={model: …, batch: …}. That of the studies reaches both."
    )
    unable = sorted({name for name in calls["asked"] if name and not has_batch(name)})
    if unable:
        notes.append(f"No batch mode in Inspect, and --batch stops the run: {', '.join(unable)}.")
    if free := sorted(name for name in set(calls["asked"]) & prices.keys() if _free(prices[name])):
        notes.append(f"Price 0, as given: {', '.join(free)}.")
    if any("second_grader" in task.captured.roles for task in tasks):
        notes.append("second_grader: asked where the first judge fails; not counted.")
    notes.append(
        "Not counted: preflight (a few calls a task), re-asks of the judge and retries beyond "
        "the pilot's, discounts of cached input; hours are without start-up, and models work at "
        "the same time."
    )
    return notes


def _free(price: ModelCost) -> bool:
    return price.input == 0 and price.output == 0
