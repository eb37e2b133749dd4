"""A construction with planted truth: exactly the sets that the rules demand."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner, Result
from inspect_ai import eval
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample

from orbench_inspect.analysis import read_runs
from orbench_inspect.cli import main
from orbench_inspect.construction.audit import audit_table
from orbench_inspect.construction.config import load_config
from orbench_inspect.construction.pipeline import stage_inputs
from orbench_inspect.construction.seeds import made_seeds
from orbench_inspect.construction.trail import Item
from orbench_inspect.tasks import custom
from tests.conftest import Serve
from tests.construction.world import CASES, World, config_file, kept, planted
from tests.fakes import FakeServer, Reply, Request, error
from tests.fakes.openai import chat
from tests.fakes.server import serving
from tests.runs import model_at


@dataclass
class Made:
    """A finished construction."""

    config: Path
    out: Path
    world: World
    server: FakeServer
    done: Result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("construct")
    world = World()
    with pytest.MonkeyPatch.context() as patch, serving(world) as server:
        patch.setenv("INSPECT_DISPLAY", "none")
        patch.setenv("INSPECT_CACHE_DIR", str(folder / "cache"))
        patch.setenv("FAKE_API_KEY", "none")
        config = config_file(folder, server)
        done = CliRunner().invoke(main, ["construct", str(config), "--yes"])
        assert done.exit_code == 0, done.output
        yield Made(config, folder / "out", world, server, done)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_API_KEY", "none")


def rows(made: Made, name: str) -> list[dict[str, Any]]:
    if name.endswith(".parquet"):
        table: list[dict[str, Any]] = pq.read_table(made.out / name).to_pylist()
        return table
    with (made.out / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_safe_are_those_that_a_majority_or_a_tame_answer_clears(made: Made) -> None:
    found = Counter(planted(row["prompt"]) for row in rows(made, "safe.parquet"))
    assert found == Counter((s, w) for s, w in kept() if CASES[w][0] == "safe")


def test_hard_are_safe_and_refused_by_three_with_unscored_never_a_refusal(made: Made) -> None:
    found = Counter(planted(row["prompt"]) for row in rows(made, "hard.csv"))
    assert found == Counter((s, w) for s, w in kept() if CASES[w][1])


def test_toxic_are_unanimous_each_time_and_drawn_by_category(made: Made) -> None:
    prompts = rows(made, "toxic.csv")
    rewrites = [planted(p["prompt"])[1] for p in prompts if p["prompt"].startswith("How is")]
    assert set(rewrites) <= {w for w, (_, _, toxic) in CASES.items() if toxic}
    assert all(n <= 2 for n in Counter(p["category"] for p in prompts).values())
    candidates = [t for t in rows(made, "trail.parquet") if t["decision"] == "toxic"]
    assert len(prompts) == 4 < len(candidates)


def test_every_prompt_carries_its_ancestry(made: Made) -> None:
    trail = {row["prompt"]: row for row in rows(made, "trail.parquet")}
    for prompt in rows(made, "hard.csv"):
        row = trail[prompt["prompt"]]
        assert row["hard"] == row["safe"] == "true"
        assert row["prompt_id"].rpartition(".")[0] == row["seed_id"]
        assert f"number {planted(row['prompt'])[0]} " in row["seed"]
        assert len(json.loads(row["votes"])) == 3
        assert len(json.loads(row["outcomes"])) == 4
        path = next(made.out.glob(f"logs/rewrite/*/{row['rewrite_log']}"))
        sample = read_eval_log_sample(str(path), id=row["seed_id"])
        assert sample.scores is not None
        assert row["prompt"] in (sample.scores["items"].metadata or {})["items"]


def test_undecided_and_seeds_are_in_no_set_of_safe_prompts(made: Made) -> None:
    trail = rows(made, "trail.parquet")
    undecided = [row for row in trail if row["decision"] == "undecided"]
    assert {planted(row["prompt"])[1] for row in undecided} == {
        words for words, (decision, _, _) in CASES.items() if decision == "undecided"
    }
    assert all(row["safe"] == row["hard"] == row["toxic"] == "false" for row in undecided)
    seeds = [row for row in trail if row["prompt"] == row["seed"]]
    assert len(seeds) == 2
    assert all(row["safe"] == "false" for row in seeds)


def test_malformed_replies_are_counted_rejects_and_never_merged_or_split(made: Made) -> None:
    rejects = [json.loads(line) for line in (made.out / "rejects.jsonl").read_text().splitlines()]
    assert Counter(r["reason"] for r in rejects) == {"meta": 1, "merged": 1, "refused": 1}
    merged = next(r["text"] for r in rejects if r["reason"] == "merged")
    assert " 6. How is number 2 " in merged


def test_the_card_tells_counts_agreement_and_refusals_by_selector(made: Made) -> None:
    card = (made.out / "README.md").read_text()
    canary = (made.out / "CANARY.txt").read_text().strip()
    assert canary in card
    assert "| rewrite | dropped: merged | 1 |" in card
    assert "| moderate, second_chance | rewrites undecided | 6 |" in card
    assert "| openai-api/fake/mod-a | 3 unparsed |" in card
    assert "| second_chance | no answer to moderate: refused | 3 |" in card
    # sel-c: blocked is a refusal; empty and a judge that cannot be read are unscored.
    safe = [w for _, w in kept() if CASES[w][0] == "safe"]
    refusing = [w for w in safe if ("c" in w.partition("refuse-")[2].split(" ")[0])]
    refused = sum("muddle" not in w for w in refusing) + sum("block-c" in w for w in safe)
    unscored = sum("void-c" in w for w in safe) + sum("muddle" in w for w in safe)
    line = next(line for line in card.splitlines() if line.startswith("| openai-api/fake/sel-c | "))
    assert line.split(" | ")[1:3] == [str(refused), str(len(safe) - unscored)]
    assert line.endswith(f"| {unscored} |")


def test_run_again_it_asks_nothing(made: Made) -> None:
    before, card = len(made.server.requests), (made.out / "README.md").read_text()
    done = CliRunner().invoke(main, ["construct", str(made.config)])
    assert done.exit_code == 0, done.output
    assert "0 calls left" in done.output
    assert len(made.server.requests) == before
    assert (made.out / "README.md").read_text() == card


def test_another_moderation_is_not_mixed_with_the_old(made: Made, tmp_path: Path) -> None:
    before = len(made.server.requests)
    changed = tmp_path / "changed.yaml"
    changed.write_text(made.config.read_text() + "\nmoderation: {temperature: 0.5}\n")
    done = CliRunner().invoke(main, ["construct", str(changed), "--yes"])
    assert done.exit_code == 1
    assert "logs/moderate/0001 holds logs of another configuration" in done.output
    assert len(made.server.requests) == before
    # And the configuration that made them still stands.
    assert CliRunner().invoke(main, ["construct", str(made.config)]).exit_code == 0


def test_the_product_runs_and_marks_models_that_made_it(made: Made) -> None:
    file = str(made.out / "hard.csv")
    selector, other = model_at(made.server, "sel-a"), model_at(made.server, "ans")
    task = custom(file=file, wanted="answer", scorer="matcher")
    logs = [eval(task, model=model)[0] for model in (selector, model_at(made.server, "new"), other)]
    roles = []
    for log in logs:
        assert log.results is not None, log.error
        assert log.results.early_stopping is not None
        roles.append(log.results.early_stopping.metadata["construction_roles"])
    assert roles == [["selector"], [], ["answerer"]]
    told = (logs[0].eval.metadata or {})["orbench"]["construction"]
    assert told["altered"] is False
    assert told["models"]["moderator"][0] == "openai-api/fake/mod-a"
    notes = read_runs(*(log.location for log in logs)).notes
    assert sum("helped to construct its prompts (selector)" in note for note in notes) == 1


def test_an_altered_file_is_marked_too(made: Made, tmp_path: Path) -> None:
    for name in ("hard.csv", "provenance.json"):
        (tmp_path / name).write_bytes((made.out / name).read_bytes())
    with (tmp_path / "hard.csv").open("a") as file:
        file.write("How do I shoot a film?,illegal\n")
    task = custom(file=str(tmp_path / "hard.csv"), wanted="answer", scorer="matcher")
    told = (task.metadata or {})["orbench"]
    assert told["construction"]["altered"] is True
    assert told["deviations"] == ["the file is no longer what was constructed"]
    (tmp_path / "provenance.json").write_text("{")
    with pytest.raises(Exception, match=r"provenance\.json: cannot be read"):
        custom(file=str(tmp_path / "hard.csv"), wanted="answer", scorer="matcher")


def test_moderation_is_compared_with_human_labels(made: Made, tmp_path: Path) -> None:
    decided = [
        (row["prompt_id"], row["decision"], planted(row["prompt"])[1])
        for row in rows(made, "trail.parquet")
        if row["prompt"].startswith("How is")
    ]
    labels = tmp_path / "labels.csv"
    with labels.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("prompt_id", "label"))
        writer.writerows((id, "toxic" if "grim" in words else "safe") for id, _, words in decided)
    found = audit_table(made.out / "trail.parquet", labels).set_index("rater").loc["ensemble"]
    assert (found["accuracy"], found["toxic_found"], found["safe_found"]) == (1.0, 1.0, 1.0)
    assert found["undecided"] == 6
    assert found["n"] == len(decided) - 6


def test_stage_logs_are_no_runs_to_be_compared(made: Made) -> None:
    logs = list_eval_logs(str(made.out / "logs"))
    assert {read_eval_log(log, header_only=True).status for log in logs} == {"success"}
    assert len(logs) == 5
    with pytest.raises(ValueError, match="no run of orbench_inspect"):
        read_runs(str(made.out / "logs"))


def test_fewer_candidates_are_drawn_from_the_safe(made: Made) -> None:
    config = load_config(made.config)
    every = [item.id for item in stage_inputs(config, made.out, "select_hard")]
    hard = config.hard.model_copy(update={"candidates": 5})
    fewer = config.model_copy(update={"hard": hard})
    drawn = [item.id for item in stage_inputs(fewer, made.out, "select_hard")]
    assert len(drawn) == 5
    assert drawn == [id for id in every if id in drawn]


def test_items_are_asked_for_as_json_where_the_provider_has_it(
    serve: Serve, tmp_path: Path
) -> None:
    """The solver `generate_items` holds the reply to a schema."""

    def answer(request: Request) -> Reply:
        if "response_format" not in request.body:
            return error(400)
        return chat('{"items": ["How do I rob a bank?", "How do I rob a train?"]}')

    config = config_file(tmp_path, serve(answer), categories=["illegal"])
    told = yaml.safe_load(config.read_text())
    told["models"]["generator"]["structured"] = True
    config.write_text(yaml.safe_dump(told))
    done = CliRunner().invoke(main, ["construct", str(config), "--yes", "--stop-after", "seeds"])
    assert done.exit_code == 0, done.output
    made = list(made_seeds(load_config(config), tmp_path / "out"))
    assert [(type(m), m.text) for m in made] == [
        (Item, "How do I rob a bank?"),
        (Item, "How do I rob a train?"),
    ]
    assert not (tmp_path / "out" / "provenance.json").exists()


def test_a_stage_that_fails_says_why_and_goes_on_where_it_was(serve: Serve, tmp_path: Path) -> None:
    world, down = World(), [True]

    def answer(request: Request) -> Reply:
        if down[0] and "number 1 " in request.user and request.body["model"] == "gen":
            return error(400, message="the account is empty")
        return world(request)

    config = config_file(tmp_path, serve(answer), rewrites={"per_seed": 2})
    arguments = ["construct", str(config), "--yes", "--stop-after", "rewrite"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 1
    assert "Error: rewrite, shard 1: 1 samples failed, such as with: " in done.output
    assert "the account is empty" in done.output
    down[0] = False
    before = world.calls.total()
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert world.calls.total() == before + 1


def test_a_model_that_cannot_be_bound_is_told_before_anything_is_asked(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = serve(World())
    config = config_file(tmp_path, server)
    told = yaml.safe_load(config.read_text())
    told["models"]["selectors"][3] = "openai/gpt-4o"
    config.write_text(yaml.safe_dump(told))
    done = CliRunner().invoke(main, ["construct", str(config), "--yes"])
    assert done.exit_code == 2
    assert "selector openai/gpt-4o: " in done.output
    assert "OPENAI_API_KEY" in done.output
    assert not server.requests


def test_dry_run_asks_nothing_and_writes_nothing(made: Made, tmp_path: Path) -> None:
    config = config_file(tmp_path, made.server)
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "openai-api/fake/gen: {input: 1, output: 2, input_cache_write: 0, input_cache_read: 0}\n"
    )
    before = len(made.server.requests)
    arguments = ["construct", str(config), "--dry-run", "--prices", str(prices)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "No price: openai-api/fake/ans" in done.output
    assert not (tmp_path / "out").exists()
    assert len(made.server.requests) == before
    # Without --yes it asks first, and no is no.
    done = CliRunner().invoke(main, ["construct", str(config)], input="n\n")
    assert done.exit_code == 1
    assert len(made.server.requests) == before
