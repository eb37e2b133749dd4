"""Prompts and responses: read from whole samples, since summaries do not hold them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inspect_ai.log import EvalSample, read_eval_log, read_eval_log_samples_by_id

from orbench_inspect.analysis.large_reads import collection_paused

# The log's directory is read once a chunk, and a chunk's samples are held at once.
_CHUNK = 5_000
_UNREAD = {"attachments", "events", "messages", "store", "timelines"}


@dataclass(frozen=True)
class Texts:
    """The texts of one sample."""

    prompt: str
    response: str
    """What the model returned, without its reasoning blocks; empty if there was nothing."""
    explanations: Mapping[str, str]
    """Why each score is what it is, by the score's name: the judge's words, or a rule."""
    error: str
    """Why the sample failed; empty if it did not."""


def read_texts(file: str, samples: Iterable[tuple[str, int]]) -> Iterator[Texts]:
    """Read the texts of some of a log's samples, in the order asked for.

    Args:
        file: Location of the log.
        samples: Ids and epochs.

    Raises:
        ValueError: If the log has no such sample.
    """
    return map(_texts, read_samples(file, samples))


def read_samples(file: str, samples: Iterable[tuple[str, int]]) -> Iterator[EvalSample]:
    """Read some of a log's samples, without their events, in the order asked for.

    Args:
        file: Location of the log.
        samples: Ids and epochs.

    Raises:
        ValueError: If the log has no such sample.
    """
    asked = list(samples)
    if file.endswith(".json"):  # has no directory: it is read as a whole in any case
        every = {(str(s.id), s.epoch): s for s in read_eval_log(file).samples or []}
        yield from (every[key] for key in asked)
        return
    for start in range(0, len(asked), _CHUNK):
        chunk = asked[start : start + _CHUNK]
        try:
            with collection_paused():
                found = read_eval_log_samples_by_id(file, chunk, exclude_fields=_UNREAD)
        except (IndexError, KeyError) as ex:
            raise ValueError(f"{file}: a sample of its summaries is missing ({ex})") from ex
        yield from found


def _texts(sample: EvalSample) -> Texts:
    asked = sample.input
    if not isinstance(asked, str):
        asked = "\n\n".join(message.text for message in asked)
    scores = sample.scores or {}
    return Texts(
        prompt=_encodable(asked),
        response=_encodable(sample.output.completion),
        explanations={name: _encodable(s.explanation or "") for name, s in scores.items()},
        error=_encodable(sample.error.message if sample.error else ""),
    )


def _encodable(text: str) -> str:
    """Half a surrogate pair, which a server may send, fits in no file."""
    return text.encode("utf-8", "replace").decode()
