"""Files of rows, written as rows come and whole or not at all."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

Row = Mapping[str, str | None]
Add = Callable[[Row], None]

_AT_ONCE = 2000


@contextmanager
def csv_file(path: Path, columns: Sequence[str]) -> Iterator[Add]:
    """A csv file; what is yielded adds a row."""
    draft = path.with_name(path.name + ".part")
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        yield writer.writerow
    draft.replace(path)


@contextmanager
def parquet_file(path: Path, columns: Sequence[str]) -> Iterator[Add]:
    """A parquet file of text columns; what is yielded adds a row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draft = path.with_name(path.name + ".part")
    schema = pa.schema([(name, pa.string()) for name in columns])
    rows: list[Row] = []
    with pq.ParquetWriter(draft, schema) as writer:

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(rows, schema))
            rows.clear()

        def add(row: Row) -> None:
            rows.append(row)
            if len(rows) == _AT_ONCE:
                flush()

        yield add
        flush()
    draft.replace(path)
