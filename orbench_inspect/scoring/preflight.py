"""The check before the first paid call.

Inspect offers one place where a run can be stopped before anything is generated, whether it was
started from the command line, by `eval()` or `eval_set()`: its early-stopping protocol. Samples
are never stopped early here.
"""

from contextvars import ContextVar
from dataclasses import dataclass

from inspect_ai.dataset import Sample
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalSpec, transcript
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import SampleScore
from inspect_ai.solver import TaskState
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from orbench_inspect.budget import begin_run, begin_sample
from orbench_inspect.mitigations import SystemAs, observe_system
from orbench_inspect.prompt_sets.provenance import Construction
from orbench_inspect.scoring.batch import check_batch, not_in_batches, one_by_one
from orbench_inspect.scoring.families import kin
from orbench_inspect.scoring.from_cache import count_cached, note_cached
from orbench_inspect.scoring.judge import ROLE, bound_judges
from orbench_inspect.scoring.panel import SECOND_ROLE
from orbench_inspect.scoring.plain_example import no_judge, try_judge
from orbench_inspect.scoring.run_record import (
    RunRecord,
    check_settings,
    count_judged,
    count_unscored,
    note_call,
    note_verdict,
)
from orbench_inspect.scoring.words import VERDICTS
from orbench_inspect.text_files import TextFile

_RUN: ContextVar[RunRecord] = ContextVar("orbench_run")


@dataclass(frozen=True)
class Preflight:
    """Stops a run that would measure something else than it says; records one that runs."""

    judge_prompt: TextFile | None
    """The judge's instructions; None where the matcher scores."""
    allow_self_judge: bool = False
    system_as: SystemAs | None = None
    """How the arm sends system text; None where it sends none."""
    composed_sha256: str | None = None
    """Hash of what the arm's samples are asked with."""
    construction: Construction | None = None
    """Which models made the prompts, where that is known."""

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Check judge and settings.

        Raises:
            ValueError: If no judge is bound, it is the evaluated model, it cannot grade a plain
                example, the model rejects system text, or a setting would change what is measured.
            Exception: As `begin_run` does, where a budget holds.
        """
        run = RunRecord(total=len(samples) * epochs, eval_id=task.eval_id)
        _RUN.set(run)
        model = get_model()
        begin_run(task.eval_id, model)
        check_settings(model.config, f"the evaluated model ({model})", "the run's settings")
        check_batch(str(model), model.config, "the run's settings (--batch)")
        _check_solver(task, run)
        self._note_construction(model, run)
        if self.judge_prompt is not None:
            self._check_binding(model, run)
            await _check_judges(self.judge_prompt, run)
        if self.system_as is not None:
            await _check_system(model, self.system_as, run)
        run.tell()
        return "orbench_inspect preflight"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Every sample is run, unless settings or a budget forbid to go on with the run."""
        _stop_if_forbidden(_RUN.get())
        await begin_sample(_RUN.get().eval_id, id, epoch)
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        """Note whether the sample was scored."""
        score = scores.get("refusal")
        asked = ((score.sample_metadata if score else None) or {}).get("composed_sha256")
        if asked is not None and asked != self.composed_sha256:
            _RUN.get().forbidden = ValueError(
                f"sample {id} was asked under another mitigation text or system prompt than this "
                "run's: a file has changed since. Results of both are never mixed: start a new run"
            )
        _RUN.get().causes[id, epoch] = (score.score.answer if score else None) or "model_error"
        note_verdict(score.score if score else None, _RUN.get())

    async def complete_task(self) -> dict[str, JsonValue]:
        """The record of the run, with a warning for each thing its reader must know.

        Inspect stores it in the log as `results.early_stopping.metadata`.
        """
        run = _RUN.get()
        _stop_if_forbidden(run)
        count_unscored(run)
        count_judged(run)
        count_cached(run)
        run.tell()
        return {**run.record, "calls": run.calls, "warnings": run.warnings}

    async def note_calls(self, state: TaskState) -> None:
        """Note, once for each model, what it was asked with and what was really sent.

        And of every sample, whether a cache answered. Meant for `Task(cleanup=)`, where a
        sample's model calls can be seen.
        """
        run = _RUN.get()
        events = [event for event in transcript().events if isinstance(event, ModelEvent)]
        note_cached(events, run)
        if len(run.calls) > (self.judge_prompt is not None):
            return
        for event in events:
            note_call(event, run)

    def _note_construction(self, model: Model, run: RunRecord) -> None:
        roles = self.construction.roles_of(str(model)) if self.construction else []
        run.record["construction_roles"] = list[JsonValue](roles)
        if roles:
            run.warnings.append(
                f"{model} helped to construct these prompts ({', '.join(roles)}): its rate is not "
                "comparable with that of models that did not"
            )

    def _check_binding(self, model: Model, run: RunRecord) -> None:
        judges = bound_judges()
        if not judges:
            raise ValueError(
                f"no judge is bound: add --model-role {ROLE}=PROVIDER/MODEL, or -T scorer=matcher "
                "to score by rules. The evaluated model never judges itself unasked"
            )
        if len(judges) > 1 and len(judges) % 2 == 0:
            run.warnings.append(
                f"a panel of {len(judges)} judges can tie, and a tie is unscored: "
                "bind an odd number"
            )
        for judge, role in _all_judges():
            check_settings(judge.config, f"the judge ({judge})", f"--model-role {role}=…")
            check_batch(str(judge), judge.config, f"--model-role {role}=…")
            run.warnings += not_in_batches(judge, role, model)
            self._check_kinship(judge, role, model, run)

    def _check_kinship(self, judge: Model, role: str, model: Model, run: RunRecord) -> None:
        if str(judge) == str(model) and judge.api.base_url == model.api.base_url:
            if not self.allow_self_judge:
                raise ValueError(
                    f"{model} would judge its own responses. Bind another judge with "
                    f"--model-role {role}=PROVIDER/MODEL, or allow it with "
                    "-T allow_self_judge=true (marked in the log)"
                )
            run.record["self_judge"] = True
            run.warnings.append(f"{model} judged its own responses")
        elif told := kin(str(judge), str(model)):
            run.warnings.append(told)


def _all_judges() -> list[tuple[Model, str]]:
    """Every judge that may be asked, with its role."""
    return [(judge, role) for role in (ROLE, SECOND_ROLE) for judge in bound_judges(role)]


def _check_solver(task: EvalSpec, run: RunRecord) -> None:
    if task.solver is None:
        return
    if task.solver.endswith("mitigation"):
        raise ValueError(
            "the solver `mitigation` was put in place of the task's own, and the log would call "
            "the arm by another name: use -T mitigation=NAME"
        )
    run.record["solver"] = task.solver
    run.warnings.append(
        f"the solver {task.solver} took the place of the task's own: no mitigation was applied"
    )


async def _check_judges(prompt: TextFile, run: RunRecord) -> None:
    run.record["judge"] = [
        await _check_judge(judge, prompt, role, run) for judge, role in _all_judges()
    ]


async def _check_judge(judge: Model, prompt: TextFile, role: str, run: RunRecord) -> JsonValue:
    found = await try_judge(judge, prompt)
    if found.outcome not in VERDICTS:
        raise ValueError(
            f"{no_judge(found)}\nNothing was generated. Check that the judge bound with "
            f"--model-role {role}=… can be reached and follows the judge prompt"
        )
    if found.outcome != "direct_answer":
        run.warnings.append(
            f"the judge {found.judge} called a plain answer {found.outcome}: do not trust it"
        )
    return {
        "model": found.judge,
        "role": role,
        "plain_example": found.outcome,
        "reply": found.replies[-1][:1000],
    }


async def _check_system(model: Model, system_as: SystemAs, run: RunRecord) -> None:
    async with one_by_one(model) as asked:
        found = await observe_system(asked, system_as)
    run.record["system"] = {"state": found.state, "sent_as": system_as, "reply": found.reply}
    if found.state == "rejected":
        raise ValueError(
            f"{model} rejects system messages ({found.reply}). Send the text at the head of the "
            "user's message instead: -T system_as=user (recorded in the log)"
        )
    if found.state == "not_observed":
        run.warnings.append(
            f"system text was not observed to reach {model}: told a word by it, the model did not "
            "know the word. A comparison of system prompts on this model is not valid; try "
            "-T system_as=user"
        )
    if found.state == "inconclusive":
        run.warnings.append(
            f"whether system text reaches {model} could not be told: asked for a word that the "
            "text holds, it gave a reply (kept in the log) that does not tell"
        )


def _stop_if_forbidden(run: RunRecord) -> None:
    if run.forbidden is not None:
        raise run.forbidden
