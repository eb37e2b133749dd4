"""What logs of the whole set cost to read: 80,359 samples.

    uv run python benchmarks/report.py [SAMPLES]

Twice: in ten shards, as evals/full.py writes them, and in one log. A few prompts are run with a
model that answers at once, and their samples are copied under other ids. Each reading is a process
of its own, so that its peak memory is its own: Inspect's `samples_df`, our `read_runs` with rates,
and the whole report.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

CATEGORIES = {
    "deception": 8040,
    "harassment": 3295,
    "harmful": 16083,
    "hate": 6160,
    "illegal": 9349,
    "privacy": 9146,
    "self-harm": 5094,
    "sexual": 3844,
    "unethical": 12513,
    "violence": 6835,
}
TEMPLATES = 200
_WORDS = ["rinse", "scrub", "salt", "until", "shines", "dry", "near", "window", "slowly"]

READINGS = {
    "Inspect samples_df": "from inspect_ai.analysis import samples_df; samples_df({log!r})",
    "read_runs, rates": (
        "from orbench_inspect.analysis import read_runs\n"
        "from orbench_inspect.analysis.overview import overview\n"
        "print(overview(read_runs({log!r})).rates[['reading', 'n', 'rate']])"
    ),
    "orbench report": (
        "from orbench_inspect.cli import main\n"
        "main(['report', {log!r}, '-o', {out!r}], standalone_mode=False)"
    ),
}


def main() -> None:
    """Make the logs, read them in each way, and print seconds and megabytes."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else sum(CATEGORIES.values())
    for shards in (10, 1):
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder) / "logs"
            _in_a_process(logs, samples, shards)
            size = sum(file.stat().st_size for file in logs.iterdir()) / 1e6
            print(f"\n{samples:,} samples in {shards} logs, {size:.0f} MB")
            print("reading                    s  CPU s    MB")
            for name, code in READINGS.items():
                seconds, cpu, megabytes = _measured(
                    code.format(log=str(logs), out=f"{folder}/report")
                )
                print(f"{name:20} {seconds:7.1f} {cpu:6.1f} {megabytes:5.0f}", flush=True)


def _measured(code: str) -> tuple[float, float, float]:
    """Seconds, seconds of computing, and peak megabytes of a process, its imports included."""
    told = "\nimport resource; used = resource.getrusage(resource.RUSAGE_SELF)\n"
    told += "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code + told], stdout=subprocess.PIPE, text=True, check=True
    )
    cpu, kilobytes = done.stdout.split()[-2:]
    return time.perf_counter() - start, float(cpu), int(kilobytes) / 1024


def _in_a_process(logs: Path, samples: int, shards: int) -> None:
    """Write the logs in a process that ends before anything is measured."""
    code = f"from benchmarks.report import write_logs; write_logs({str(logs)!r}, {samples}, "
    subprocess.run(
        [sys.executable, "-c", f"{code}{shards})"], check=True, cwd=Path(__file__).parents[1]
    )


def write_logs(folder: str, samples: int, shards: int) -> None:
    """Run a few prompts, and write logs with as many copies of their samples as asked for.

    Inspect's own writing of so many at once takes half an hour: the members of a log, which
    is a zip archive of JSON, are copied instead.
    """
    import_module("zipfile_zstd")  # teaches zipfile the compression of Inspect's logs
    logs = Path(folder)
    logs.mkdir()
    counted = random.Random(0).choices(list(CATEGORIES), list(CATEGORIES.values()), k=samples)
    with tempfile.TemporaryDirectory() as seeds:
        for k, seed in enumerate(_seed_logs(Path(seeds), shards)):
            path = logs / f"2026-01-01T00-00-00_custom_{k:02}.eval"
            of_shard = [(n, counted[n]) for n in range(k, samples, shards)]
            with zipfile.ZipFile(seed) as source, zipfile.ZipFile(path, "w", 93) as out:
                _copy(source, out, of_shard, samples)


def _copy(
    source: zipfile.ZipFile, out: zipfile.ZipFile, named: list[tuple[int, str]], whole: int
) -> None:
    of: dict[str, list[dict[str, Any]]] = {name: [] for name in CATEGORIES}
    for summary in json.loads(source.read("summaries.json")):
        of[summary["metadata"]["category"]].append(summary)
    texts = {s["id"]: source.read(f"samples/{s['id']}_epoch_1.json") for n in of for s in of[n]}
    summaries = []
    for n, category in named:
        template = of[category][n % len(of[category])]
        new = f"full-{category}-{n:012x}"
        text = texts[template["id"]].replace(template["id"].encode(), new.encode())
        out.writestr(f"samples/{new}_epoch_1.json", text)
        summaries.append(template | {"id": new})
    header = json.loads(source.read("header.json"))
    header["eval"]["dataset"] |= {"samples": len(named), "sample_ids": None}
    header["eval"]["metadata"]["orbench"]["whole"]["prompts"] = whole
    out.writestr("_journal/start.json", source.read("_journal/start.json"))
    out.writestr("summaries.json", json.dumps(summaries))
    out.writestr("header.json", json.dumps(header))


def _seed_logs(folder: Path, shards: int) -> list[str]:
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from orbench_inspect.tasks import custom

    chance = random.Random(0)

    def answer(*_: object) -> ModelOutput:
        refuses = chance.random() < 0.2
        text = " ".join(chance.choices(_WORDS, k=200))
        said = "I'm sorry, but I can't help with that." if refuses else f"Sure: {text}."
        output = ModelOutput.from_content("mockllm/model", said)
        output.usage = ModelUsage(input_tokens=30, output_tokens=250, total_tokens=280)
        return output

    prompts = folder / "prompts.csv"
    names = list(CATEGORIES)
    rows = [
        f"how do I {' '.join(chance.choices(_WORDS, k=15))} {n},{names[n % 10]}"
        for n in range(TEMPLATES * shards)
    ]
    prompts.write_text("\n".join(["prompt,category", *rows]))
    logs = eval(
        [
            custom(file=str(prompts), wanted="answer", scorer="matcher", shard=f"{k}/{shards}")
            for k in range(1, shards + 1)
        ],
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(folder),
        display="none",
    )
    return [log.location.removeprefix("file://") for log in logs]


if __name__ == "__main__":
    main()
