"""Which runs are arms of one comparison, what they are called, and whether they fit together."""

from typing import Literal

import pandas as pd

from orbench_inspect.analysis.wording import judged_by, rubrics

By = Literal["mitigation", "model", "judge"]

PAST = {"answer": "answered", "refuse": "refused"}


def arms_of(
    runs: pd.DataFrame,
    by: By,
    judge: str | None,
    notes: list[str],
    judge_prompt: str | None = None,
) -> pd.DataFrame:
    """Name runs as arms, one for each group, arm and prompt set.

    Args:
        runs: The frame `runs` of `read_runs`.
        by: What tells the arms apart; what is left makes the groups.
        judge: Take the scores of this judge, where logs have those of several.
        notes: What is left out is told here.
        judge_prompt: Take the scores under this rubric.

    Returns:
        The runs that count, with `group` and `arm`.

    Raises:
        ValueError: If the runs do not fit together.
    """
    runs = scored_by(runs, judge, judge_prompt)
    frame = labelled(runs, by)
    _must_match(frame, by)
    for column in ("temperature", "max_tokens"):
        values = sorted(frame[column].dropna().unique())
        if len(values) > 1:
            notes.append(f"runs differ in {column}: {', '.join(map(str, values))}")
    return one_run_each(frame, notes)


def scored_by(runs: pd.DataFrame, judge: str | None, judge_prompt: str | None) -> pd.DataFrame:
    """The runs with the scores of a judge, or under a rubric; all if neither is named.

    Raises:
        ValueError: If there are none, naming those there are.
    """
    if judge is not None:
        runs = _only(runs, runs["judge"], judge, "of a judge")
    if judge_prompt is not None:
        # By its name, or, where its text was changed, with the beginning of its hash.
        named = rubrics(runs) if "@" in judge_prompt else runs["judge_prompt"]
        runs = _only(runs, named, judge_prompt, "under a judge prompt")
    return runs


def _only(runs: pd.DataFrame, named: "pd.Series[str]", wanted: str, what: str) -> pd.DataFrame:
    if wanted not in set(named):
        known = ", ".join(sorted({*named.dropna()} - {""}))
        raise ValueError(f"no scores {what} '{wanted}'; there are those of: {known}")
    return runs[named == wanted]


def labelled(runs: pd.DataFrame, by: By) -> pd.DataFrame:
    """Name each run's arm and the group it is compared in."""
    frame = runs.copy()
    told = frame["mitigation"].map(str)
    # The same name on another product prompt, or with another text, is another arm.
    if frame["product_sha256"].nunique(dropna=False) > 1:
        told += frame["product_sha256"].map(
            lambda sha: f"+{sha[:6]}" if isinstance(sha, str) else ""
        )
    texts = frame["composed_sha256"].groupby([frame["model"], told]).transform("nunique")
    told = told.where(texts <= 1, told + "@" + frame["composed_sha256"].map(str).str[:6])
    told = told.where(frame["replicate"] == 1, told + "#" + frame["replicate"].map(str))
    judge = frame["judge"].map(str)
    prompts = frame["judge_prompt_sha256"].groupby(judge).transform("nunique")
    judged = [judged_by(run) for _, run in frame.iterrows()]
    judge = judge.where(prompts <= 1, pd.Series(judged, index=frame.index))
    label = {"mitigation": told, "model": frame["model"], "judge": judge}
    # Where other arms were taken out, those that are left keep their names.
    frame["arm"] = frame["arm_label"] if "arm_label" in frame else label[by]
    rest = [label[name] for name in ("model", "mitigation", "judge") if name != by]
    if by != "judge":
        rest = rest[:1]
    frame["group"] = rest[0] if len(rest) == 1 else rest[0] + " · " + rest[1]
    return frame


def one_run_each(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The latest run of each arm and set, a complete one before one that is not."""
    whole = (frame["status"] == "success") & (frame["samples"] >= frame["planned"])
    ordered = frame.assign(whole=whole).sort_values(["whole", "created"]).drop(columns="whole")
    keys = ["group", "arm", "prompt_set"]
    for _, row in ordered[ordered.duplicated(keys, keep="last")].iterrows():
        notes.append(f"{row['file']}: another run of {row['arm']} on {row['prompt_set']} is used")
    kept: pd.DataFrame = ordered.drop_duplicates(keys, keep="last")
    return kept


def _must_match(frame: pd.DataFrame, by: By) -> None:
    must = [("data_sha256", "prompt data (revisions)")]
    if by != "judge":
        must += [("scorer", "scorers"), ("judge", "judges")]
        must += [("rubric", "judge prompts")]
        frame = frame.assign(rubric=rubrics(frame).where(lambda rubric: rubric != ""))
        mixed = frame[frame["judges"] > 1]
        if not mixed.empty:
            raise ValueError(f"{mixed['file'].iloc[0]}: its scores are of several judges")
    for column, what in must:
        scope = frame.groupby("prompt_set") if column == "data_sha256" else [("", frame)]
        for name, rows in scope:
            values = sorted(rows[column].dropna().astype(str).unique())
            if len(values) > 1:
                of = f" of '{name}'" if name else ""
                raise ValueError(
                    f"the runs have different {what}{of}: {', '.join(v[:40] for v in values)}. "
                    "Rates under different ones cannot be compared: name logs of one"
                    + (
                        ", choose with --judge or --judge-prompt, or `orbench regrade`"
                        if "judge" in what
                        else ""
                    )
                )
    for wanted, rows in frame.groupby("wanted"):
        sets = sorted(rows["prompt_set"].unique())
        if len(sets) > 1:
            raise ValueError(
                f"several sets should be {PAST[wanted]}: {', '.join(sets)}. Compare one at a time: "
                "name its logs"
            )
