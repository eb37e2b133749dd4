"""What the model is told before it is asked."""

from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, system_message

from orbench_inspect.mitigations import compose, known_mitigations, load_mitigation, mitigation
from orbench_inspect.tasks import custom
from orbench_inspect.text_files import hash_text
from tests.conftest import Serve, Write
from tests.fakes.openai import chat
from tests.runs import model_at, run

PRODUCT = 'You are "Ada", 100% {polite}.\r\n\r\n  Use {{ name }} and $x. \n'


@pytest.fixture
def product(tmp_path: Path) -> str:
    path = tmp_path / "product.txt"
    path.write_bytes(PRODUCT.encode())
    return str(path)


def test_none_sends_no_system_message(serve: Serve, prompts_file: Write) -> None:
    server = serve(lambda request: chat("Yes, like this."))
    run(custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher"), model_at(server))
    assert server.requests[0].texts == [("user", "one")]


def test_a_mitigation_comes_after_the_product_s_prompt_kept_to_the_last_character(
    serve: Serve, prompts_file: Write, product: str
) -> None:
    server = serve(lambda request: chat("Yes, like this."))
    task = custom(
        file=str(prompts_file("one")),
        wanted="answer",
        scorer="matcher",
        mitigation="helpful_first",
        system_prompt=product,
    )
    log = run(task, model_at(server))
    sent = f"{PRODUCT}\n\n{load_mitigation('helpful_first').text}"
    assert server.requests[0].texts == [("system", sent), ("user", "one")]
    recorded = (log.eval.metadata or {})["orbench"]
    assert recorded["system_message"] == sent
    assert recorded["system_message_sha256"] == hash_text(sent)
    assert recorded["mitigation"] == "helpful_first"


def test_the_product_s_prompt_alone_is_sent_as_it_is(product: str) -> None:
    assert compose("none", product).text == PRODUCT


def test_the_solver_works_on_any_task_and_keeps_its_system_message(serve: Serve) -> None:
    server = serve(lambda request: chat("Yes."))
    task = Task(
        dataset=[Sample(input="one")],
        solver=[system_message("Be brief."), mitigation("helpful_minimal"), generate()],
    )
    run(task, model_at(server))
    told = load_mitigation("helpful_minimal").text
    assert server.requests[0].texts[0] == ("system", f"Be brief.\n\n{told}")


def test_a_mitigation_of_ones_own_is_a_path_and_used_literally(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("Say {name}, not %s.\n")
    assert compose(str(path)).text == "Say {name}, not %s."
    assert compose(str(path)).mitigation.id == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("helpful", "unknown mitigation 'helpful'; known: goal_priority, helpful_first"),
        ("./absent.md", r"mitigation absent.md: cannot be read \(No such file"),
    ],
)
def test_an_unknown_mitigation_is_explained(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compose(name)


def test_a_blank_product_prompt_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    with pytest.raises(ValueError, match="is blank; leave the option out"):
        compose("none", str(tmp_path / "blank.txt"))


def test_broken_front_matter_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "broken.md"
    path.write_text("---\nid: x\nNo end.")
    with pytest.raises(ValueError, match="no closing '---' line"):
        compose(str(path))
    path.write_text("---\n- a\n---\nText")
    with pytest.raises(ValueError, match="'key: value' lines"):
        compose(str(path))


@pytest.mark.parametrize("name", known_mitigations())
def test_every_mitigation_says_what_it_is(name: str) -> None:
    mitigation = load_mitigation(name)
    assert mitigation.id == name
    assert mitigation.meta.keys() == {"id", "idea", "expected", "source", "wording"}
    assert bool(mitigation.text) is (name != "none")
