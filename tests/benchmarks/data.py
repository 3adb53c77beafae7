"""TPC-H tables as Parquet and the changes that the upsert rounds apply, made once per scale and kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

UPDATED_SHARE = 0.01
NEW_SHARE = 0.001


def tpch_table(folder: Path, scale: float, table: str) -> Path:
    """Path of a TPC-H table's Parquet file at a scale; generates it when it is not there."""
    target = folder / f"sf{scale:g}" / f"{table}.parquet"
    if not target.exists():
        generator = Path(sys.executable).with_name("tpchgen-cli")
        scratch = target.parent / f"{table}.part"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        command = [str(generator), "parquet", "-s", f"{scale:g}", "--tables", table, "--output-dir", str(scratch)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (scratch / f"{table}.parquet").rename(target)
        shutil.rmtree(scratch)
    return target


def order_changes(folder: Path, scale: float, rounds: int, *, table_factor: int = 1) -> list[Path]:
    """A file per round: 1 % of the orders at `scale` changed, 0.1 % new, in a table `table_factor` times as large."""
    orders = tpch_table(folder, scale * table_factor, "orders")
    target = orders.parent / ("changes" if table_factor == 1 else f"changes-of-sf{scale:g}")
    target.mkdir(exist_ok=True)
    files = [target / f"round-{number:02}.parquet" for number in range(1, rounds + 1)]
    if all(file.exists() for file in files):
        return files
    table = plain_strings(pq.read_table(orders))
    rows = table.num_rows // table_factor
    first_new_key = pc.max(table["o_orderkey"]).as_py() + 1
    for number, file in enumerate(files):
        random = np.random.default_rng(number)
        updated = table.take(np.sort(random.choice(table.num_rows, int(rows * UPDATED_SHARE), replace=False)))
        new = table.take(np.sort(random.choice(table.num_rows, int(rows * NEW_SHARE), replace=False)))
        keys = np.arange(new.num_rows, dtype=np.int64) + first_new_key + number * new.num_rows
        new = new.set_column(0, table.schema.field(0), pa.array(keys))
        changes = pa.concat_tables([updated, new])
        status = pa.array([f"{number % 10}"] * changes.num_rows, table.schema.field("o_orderstatus").type)
        column = table.schema.get_field_index("o_orderstatus")
        pq.write_table(changes.set_column(column, table.schema.field(column), status), file)
    return files


def scattered_orders(folder: Path, scale: float, keys: int, batches: int) -> Path:
    """A folder with a file for each batch: so many orders of all over the table, changed."""
    source = tpch_table(folder, scale, "orders")
    target = source.parent / f"batches-{batches}-of-{keys}"
    if target.exists():
        return target
    orders = plain_strings(pq.read_table(source))
    scratch = Path(tempfile.mkdtemp(dir=source.parent))
    for number in range(batches):
        random = np.random.default_rng(number)
        count = min(keys, orders.num_rows // 2)
        rows = orders.take(np.sort(random.choice(orders.num_rows, count, replace=False)))
        column = rows.schema.get_field_index("o_orderstatus")
        status = pa.array([chr(ord("0") + number % 10)] * count, rows.schema.field(column).type)
        pq.write_table(rows.set_column(column, rows.schema.field(column), status), scratch / f"{number:05}.parquet")
    scratch.rename(target)
    return target


def plain_strings(table: pa.Table) -> pa.Table:
    """The generator asks readers for string views, which Arrow cannot take from."""
    plain = [f.with_type(pa.string()) if f.type == pa.string_view() else f for f in table.schema]
    return table.cast(pa.schema(plain))
