"""What a log of the whole set costs to read: 80,359 samples.

    uv run python benchmarks/report.py [SAMPLES]

One log is run on a few prompts with a model that answers at once, and its samples are copied
under other ids. Each reading is a process of its own, so that its peak memory is its own:
Inspect's `samples_df`, our `read_runs` with rates, and the whole report.
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
    """Make the log, read it in each way, and print seconds and megabytes."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else sum(CATEGORIES.values())
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        log = _log(Path(folder), samples)
        size = log.stat().st_size / 1e6
        print(f"log of {samples:,} samples: {size:.0f} MB ({time.perf_counter() - start:.0f} s)\n")
        print("reading                    s  CPU s    MB")
        for name, code in READINGS.items():
            seconds, cpu, megabytes = _measured(code.format(log=str(log), out=f"{folder}/report"))
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


def _log(folder: Path, samples: int) -> Path:
    """Write the log in a process that ends before anything is measured."""
    path = folder / "2026-01-01T00-00-00_custom_benchmark.eval"
    code = f"from benchmarks.report import write_log; write_log({str(path)!r}, {samples})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
    return path


def write_log(path: str, samples: int) -> None:
    """Run a few prompts, and write a log with as many copies of their samples as asked for.

    Inspect's own writing of so many at once takes half an hour: the members of the log, which
    is a zip archive of JSON, are copied instead.
    """
    import_module("zipfile_zstd")  # teaches zipfile the compression of Inspect's logs
    folder = Path(path).parent
    counted = random.Random(0).choices(list(CATEGORIES), list(CATEGORIES.values()), k=samples)
    with zipfile.ZipFile(_seed_log(folder)) as seed, zipfile.ZipFile(path, "w", 93) as out:
        of: dict[str, list[dict[str, Any]]] = {name: [] for name in CATEGORIES}
        for summary in json.loads(seed.read("summaries.json")):
            of[summary["metadata"]["category"]].append(summary)
        texts = {s["id"]: seed.read(f"samples/{s['id']}_epoch_1.json") for n in of for s in of[n]}
        summaries = []
        for n, category in enumerate(counted):
            template = of[category][n % len(of[category])]
            new = f"full-{category}-{n:012x}"
            text = texts[template["id"]].replace(template["id"].encode(), new.encode())
            out.writestr(f"samples/{new}_epoch_1.json", text)
            summaries.append(template | {"id": new})
        header = json.loads(seed.read("header.json"))
        header["eval"]["dataset"] |= {"samples": samples, "sample_ids": None}
        out.writestr("_journal/start.json", seed.read("_journal/start.json"))
        out.writestr("summaries.json", json.dumps(summaries))
        out.writestr("header.json", json.dumps(header))


def _seed_log(folder: Path) -> str:
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
    rows = [f"how do I {' '.join(chance.choices(_WORDS, k=15))} {n}" for n in range(TEMPLATES)]
    prompts.write_text(
        "\n".join(["prompt,category", *(f"{r},{names[n % 10]}" for n, r in enumerate(rows))])
    )
    (log,) = eval(
        custom(file=str(prompts), wanted="answer", scorer="matcher"),
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(folder / "seed"),
        display="none",
    )
    return log.location.removeprefix("file://")


if __name__ == "__main__":
    main()
