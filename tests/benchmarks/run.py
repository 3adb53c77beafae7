"""sqlext, Iceberg and Delta side by side: `python3 tests/benchmarks/run.py [--suite scan,insert,upsert] [--scale 1]`.

Prints a Markdown table, and writes the results as JSON lines to build/benchmarks. Each figure is the least of
`--repeats` runs, in seconds by the clock and in CPU seconds of the whole process tree.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

import argparse
import datetime
import importlib.metadata
import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil

from benchmarks.data import order_changes, tpch_table
from benchmarks.row_changes import LARGE
from benchmarks.suites import OF_ICEBERG_TABLES, SUITES
from benchmarks.systems import DELTA, MASTER, SHARED_SETTINGS, SYSTEMS
from benchmarks.targets import judgements
from benchmarks.tpch import SUITE, TABLES
from judges.iceberg import RUNTIME

BUILD = Path(ROOT, "build")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", default=",".join(SUITES), help=f"of {', '.join(SUITES)}; default all")
    parser.add_argument("--system", default=",".join(SYSTEMS), help=f"of {', '.join(SYSTEMS)}; default all")
    parser.add_argument("--scale", type=float, default=1, help="TPC-H scale factor")
    parser.add_argument("--rounds", type=int, default=10, help="MERGE statements in a row in the upsert suites")
    parser.add_argument("--mode", help="those ways of a suite whose names have one of these in them; default all")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the least counts")
    parser.add_argument("--driver-memory", default=SHARED_SETTINGS["spark.driver.memory"], help="of each system's JVM")
    parser.add_argument("--report", type=Path, help="also write the table with machine and versions to this file")
    chosen = parser.parse_args()
    chosen.suites = chosen.suite.split(",")
    chosen.systems = chosen.system.split(",")
    unknown = (set(chosen.suites) - set(SUITES)) | (set(chosen.systems) - set(SYSTEMS))
    if unknown:
        parser.error(f"no such suite or system: {', '.join(sorted(unknown))}")
    return chosen


def prepare_data(folder: Path, chosen: argparse.Namespace) -> None:
    """Makes all input files first, so that no measured process pays for them."""
    print(f"data: {folder}, scale {chosen.scale:g}", flush=True)
    if {"scan", "insert", "evolved", "delete_update", "wide_changes", "layout"} & set(chosen.suites):
        tpch_table(folder, chosen.scale, "lineitem")
    for table in TABLES if SUITE in chosen.suites else ():
        tpch_table(folder, chosen.scale, table)
    if "upsert" in chosen.suites:
        order_changes(folder, chosen.scale, chosen.rounds)
    for suite, factors in {
        "one_row": (1, LARGE),
        "scan_after": (1,),
        "stream_upserts": (1,),
        "large_merge": (LARGE,),
        "keyless_merge": (1,),
        "key_lookups": (1,),
    }.items():
        for factor in factors if suite in chosen.suites else ():
            tpch_table(folder, chosen.scale * factor, "orders")
    if "upsert_10x" in chosen.suites:
        order_changes(folder, chosen.scale, chosen.rounds, table_factor=10)


def circumstances(chosen: argparse.Namespace) -> dict[str, Any]:
    """Machine, versions and settings that the figures belong to."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        processor = names[0].split(":")[1].strip() if names else processor
    java = subprocess.run(
        [os.path.join(os.environ["JAVA_HOME"], "bin", "java"), "-version"], capture_output=True, text=True, check=True
    )
    packages = ("sqlext", "pyspark", "pyarrow", "pyroaring", "tpchgen-cli")
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{processor}, {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": platform.platform(),
        "load before": round(os.getloadavg()[0], 2),
        "java": java.stderr.splitlines()[0],
        "versions": {"python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}},
        "against": [RUNTIME, DELTA.split(",")[0]],
        "spark": {"master": MASTER, **SHARED_SETTINGS, "spark.driver.memory": chosen.driver_memory},
        "scale": chosen.scale,
        "rounds": chosen.rounds,
        "repeats": chosen.repeats,
    }


def run_system(name: str, chosen: argparse.Namespace, data: Path, log: Path) -> list[dict[str, Any]]:
    """Results of one system's process; a process that fails says where its log is, and the others go on."""
    work = BUILD / "benchmarks"
    request = {
        "system": name,
        "suites": chosen.suites,
        "data": str(data),
        "work": str(work),
        "scale": chosen.scale,
        "repeats": chosen.repeats,
        "rounds": chosen.rounds,
        "modes": chosen.mode.split(",") if chosen.mode else [],
        "settings": {"spark.driver.memory": chosen.driver_memory},
    }
    results = []
    with log.open("w") as errors:
        worker = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", json.dumps(request)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(ROOT, "tests"))},
        )
        assert worker.stdout
        for line in worker.stdout:
            result = json.loads(line)
            results.append(result)
            print("  " + " | ".join(table_row(result)), flush=True)
    if worker.wait() != 0:
        print(f"  {name} failed; the reason stands at the end of {log}", flush=True)
    return results


def table_row(result: dict[str, Any]) -> list[str]:
    cost = result["cost"]
    return [
        result["suite"],
        result["case"],
        result["system"],
        result["mode"],
        *(_seconds(cost[of], result) for of in ("wall", "cpu")),
        "" if result["amount"] is None else f"{result['amount']:.0f} {result['unit']}",
    ]


def _seconds(found: float, result: dict[str, Any]) -> str:
    if result["amount"] is not None:
        return ""
    return f"{found:.2f}" if found >= 1 else f"{found:.4f}"


def markdown(results: list[dict[str, Any]]) -> str:
    order = {(result["suite"], result["case"]): number for number, result in enumerate(results)}
    rows = sorted(
        results, key=lambda result: (list(SUITES).index(result["suite"]), order[result["suite"], result["case"]])
    )
    header = ["suite", "case", "system", "mode", "wall s", "CPU s", "amount"]
    lines = [header, ["---"] * 4 + ["---:"] * 3, *(table_row(result) for result in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def differing_checks(results: list[dict[str, Any]]) -> list[str]:
    """Cases in which the systems' answers are not equal: their figures mean nothing."""
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        of_case = answers.setdefault((result["suite"], result["case"]), {})
        of_case[f"{result['system']} {result['mode']}"] = json.dumps(result["check"])
    return [f"{suite} {case}: {given}" for (suite, case), given in answers.items() if len(set(given.values())) > 1]


def main() -> int:
    chosen = arguments()
    data = BUILD / "tpch"
    output = BUILD / "benchmarks"
    output.mkdir(parents=True, exist_ok=True)
    prepare_data(data, chosen)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    context = circumstances(chosen)
    results = []
    if set(chosen.suites) <= OF_ICEBERG_TABLES:
        chosen.systems = [name for name in chosen.systems if name != "delta"]
    for name in chosen.systems:
        print(f"{name}: {', '.join(chosen.suites)}", flush=True)
        results += run_system(name, chosen, data, output / f"{stamp}-{name}.log")
    lines = output / f"{stamp}.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in [context, *results]))
    table = markdown(results)
    verdicts = "\n".join(judgements(results))
    print(f"\n{table}\n\n{verdicts}\n\nwritten to {lines}")
    if chosen.report:
        facts = "\n".join(f"- {name}: {value}" for name, value in context.items())
        chosen.report.write_text(f"# Benchmark figures\n\n{facts}\n\n{table}\n\n{verdicts}\n")
    differing = differing_checks(results)
    for difference in differing:
        print(f"WRONG: the systems' answers differ in {difference}")
    failed = {name for name in chosen.systems if name not in {result["system"] for result in results}}
    return 1 if differing or failed else 0


if __name__ == "__main__":
    sys.exit(main())
