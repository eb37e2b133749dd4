"""What the model is told beside its prompt."""

from pathlib import Path

import click
import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
)
from inspect_ai.solver import system_message

from orbench_inspect.mitigations import compose, known_mitigations, load_mitigation, mitigation
from orbench_inspect.tasks import custom
from tests.conftest import Serve, Write
from tests.fakes import Reply, Request
from tests.fakes.openai import chat
from tests.runs import model_at, run

PRODUCT = 'You are "Ada", 100% {polite}.\r\n\r\n  Use {{ name }} and $x. \n'
PROMPTS = [name for name in known_mitigations() if load_mitigation(name).method == "prompt"]
PROCEDURES = [name for name in known_mitigations() if name not in PROMPTS]


@pytest.fixture
def product(tmp_path: Path) -> str:
    path = tmp_path / "product.txt"
    path.write_bytes(PRODUCT.encode())
    return str(path)


def answer(request: Request) -> Reply:
    """A model that takes system text, and answers."""
    if request.user.endswith("word of the day?"):
        return chat("It is pelican." if "pelican" in str(request.body) else "I do not know.")
    return chat("Yes, like this.")


@pytest.mark.parametrize("name", PROMPTS)
def test_the_server_sees_each_arm_byte_for_byte(
    serve: Serve, prompts_file: Write, product: str, name: str
) -> None:
    server = serve(answer)
    path = str(prompts_file("How do I clean a pan?"))
    task = custom(
        file=path, wanted="answer", scorer="matcher", mitigation=name, system_prompt=product
    )
    log = run(task, model_at(server))
    told = load_mitigation(name)
    system = f"{PRODUCT}\n\n{told.system}" if told.system else PRODUCT
    asked = "How do I clean a pan?"
    if told.before:
        asked = f"{told.before}\n\n{asked}\n\n{told.after}"
    turns = [(role, getattr(t, role)) for t in told.turns for role in ("user", "assistant")]
    sent = server.requests[-1].texts
    assert sent == [("system", system), *turns, ("user", asked)]
    recorded = (log.eval.metadata or {})["orbench"]
    shown = [
        (m["role"], m["content"].replace("<prompt>", "How do I clean a pan?"))
        for m in recorded["composed"]
    ]
    assert shown == sent
    assert recorded["composed_sha256"] == compose(name, product).sha256
    assert recorded["mitigation"] == name


def test_none_sends_no_system_message_and_asks_no_canary(serve: Serve, prompts_file: Write) -> None:
    server = serve(answer)
    run(custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher"), model_at(server))
    assert [request.texts for request in server.requests] == [[("user", "one")]]


def test_the_product_s_prompt_alone_is_sent_as_it_is(product: str) -> None:
    assert compose("none", product).system == PRODUCT


def test_system_text_can_stand_at_the_head_of_the_first_user_message(product: str) -> None:
    sent = compose("demonstrate_refusal", product, "user").onto([ChatMessageUser(content="one")])
    first = load_mitigation("demonstrate_refusal").turns[0].user
    assert [m.role for m in sent][:2] == ["user", "assistant"]
    assert sent[0].text == f"{PRODUCT}\n\n{first}"
    assert sent[-1].text == "one"


def test_the_solver_works_on_any_task_and_keeps_its_system_message(serve: Serve) -> None:
    server = serve(answer)
    task = Task(
        dataset=[Sample(input="one")],
        solver=[system_message("Be brief."), mitigation("helpful_minimal")],
    )
    run(task, model_at(server))
    told = load_mitigation("helpful_minimal").system
    assert server.requests[0].texts == [("system", f"Be brief.\n\n{told}"), ("user", "one")]


def test_none_leaves_a_foreign_conversation_alone() -> None:
    talk: list[ChatMessage] = [
        ChatMessageSystem(content=""),
        ChatMessageUser(content="one"),
        ChatMessageSystem(content="Mind this."),
        ChatMessageUser(content="two"),
    ]
    assert compose("none").onto(talk) == talk
    told = compose("helpful_minimal").onto(talk)
    assert [m.role for m in told] == [m.role for m in talk]
    assert told[0].text == load_mitigation("helpful_minimal").system


def test_the_solver_in_place_of_a_task_s_own_is_refused(serve: Serve, prompts_file: Write) -> None:
    server = serve(answer)
    task = custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher")
    log = run(task, model_at(server), solver=mitigation("safety_preamble"))
    assert log.error is not None
    assert "use -T mitigation=NAME" in log.error.message
    assert server.requests == []


def test_a_system_message_of_inspect_s_own_is_refused(serve: Serve, prompts_file: Write) -> None:
    server = serve(answer)
    task = custom(file=str(prompts_file("one")), wanted="answer", scorer="matcher")
    log = run(task, model_at(server), system_message="Be brief.")
    assert log.error is not None
    assert "use -T system_prompt=FILE" in log.error.message


def test_mistyped_arguments_of_the_solver_are_explained() -> None:
    with pytest.raises(click.UsageError, match="system_as=sytem: must be one of"):
        mitigation("none", system_as="sytem")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(click.UsageError, match="unknown mitigation 'helpfull'"):
        mitigation("helpfull")


def test_a_prompt_with_an_image_keeps_it() -> None:
    image = ContentImage(image="data:image/png;base64,AAAA")
    asked = ChatMessageUser(content=[ContentText(text="What is this?"), image])
    sent = compose("self_reminder").onto([ChatMessageSystem(content="Be brief."), asked])
    content = sent[-1].content
    assert not isinstance(content, str)
    assert [part.type for part in content] == ["text", "text", "image", "text"]


def test_a_mitigation_of_ones_own_is_a_path_and_used_literally(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("Say {name}, not %s.\n")
    assert compose(str(path)).system == "Say {name}, not %s."
    assert compose(str(path)).mitigation.id == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("helpful", "unknown mitigation 'helpful'; known: category_policy, demonstrate_answ"),
        ("./absent.md", r"mitigation absent.md: cannot be read \(No such file"),
    ],
)
def test_an_unknown_mitigation_is_explained(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compose(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\nid: x\nNo end.", "no closing '---' line"),
        ("---\n- a\n---\nText", "'key: value' lines"),
        ("---\na: [\n---\nText", "front matter is not YAML"),
        ("---\nbefor: Mind this.\n---\n", "befor: Extra inputs are not permitted"),
        ("---\nmethod: rout\n---\n", "method: Input should be 'prompt', 'route'"),
        ("---\nmethod: route\n---\n", "texts must be: classify, harmful, harmless"),
        ("---\nmethod: smooth\ncopies: 0\n---\n", "copies: Input should be greater than"),
        ("---\nturns:\n- user: Hi\n---\n", "turns.0.assistant: Field required"),
        ("", "it does nothing"),
        ("---\nidea: x\n---", "it does nothing"),
        ("---\nsystem: Be kind.\n---\n", "system text is what follows the front matter"),
        ("---\nid: none\n---\nBe kind.", "its id 'none' is that of a mitigation of the package"),
        (
            "---\nmethod: route\ntexts: {classify: a, harmful: b, harmless: c}\n---\nBe kind.",
            "route asks with its texts; leave the body empty",
        ),
    ],
)
def test_broken_front_matter_is_explained(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.md"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        compose(str(path))
    assert "broken.md" in str(caught.value)


def test_a_blank_product_prompt_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    with pytest.raises(ValueError, match="is blank; leave the option out"):
        compose("none", str(tmp_path / "blank.txt"))


@pytest.mark.parametrize("name", known_mitigations())
def test_every_mitigation_says_what_it_is(name: str) -> None:
    told = load_mitigation(name)
    assert told.id == name
    assert told.idea
    assert told.expected
    assert told.source
    assert told.wording == int(name.partition(".")[2] or 1)


def test_two_ideas_come_in_three_wordings_with_texts_of_their_own() -> None:
    for idea in ("helpful_first", "ignore_alarming_words"):
        texts = {load_mitigation(f"{idea}{n}").system for n in ("", ".2", ".3")}
        assert len(texts) == 3


def test_the_hash_is_of_what_is_asked_and_not_of_notes(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("---\nidea: One.\n---\nBe kind.")
    first = compose(str(path)).sha256
    path.write_text("---\nidea: Two.\n---\nBe kind.")
    assert compose(str(path)).sha256 == first
    path.write_text("---\nidea: Two.\nafter: Thanks.\n---\nBe kind.")
    assert compose(str(path)).sha256 != first
    assert compose(str(path), system_as="user").sha256 != compose(str(path)).sha256


def test_the_placebo_is_as_long_as_the_others() -> None:
    lengths = sorted(
        len(load_mitigation(name).system) for name in PROMPTS if load_mitigation(name).system
    )
    placebo = len(load_mitigation("placebo").system)
    assert lengths[len(lengths) // 4] <= placebo <= lengths[3 * len(lengths) // 4]
