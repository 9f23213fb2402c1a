#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every shipped scenario and compares what it gives, to the picosecond, with golden/NAME.txt:
golden_long_test.py those of LONG, this one the others.

RNICSIM_UPDATE=1 (tools/test --update) rewrites the files instead: look at the difference before you
commit it. A file holds timeline, metrics other than zero, and violations, a line each; the layout
of the result document is checked elsewhere.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
SCENARIOS = HERE.parent.parent / "scenarios"
RNICSIM = os.environ["RNICSIM"]
UPDATE = os.environ.get("RNICSIM_UPDATE") == "1"
SHOWN = 12
LONG = {"qp_scaling", "slow_receiver", "tcp_vs_rdma", "translation_misses"}


def lines_of(document):
    for run in document["runs"]:
        yield f"== {run['variant'] or run['scenario']}"
        for row in run["timeline"]:
            yield (f"step {row['step']} {row['part']} {row['host']} {row['lane']} "
                   f"{row['begin_ps']} {row['end_ps']} {row['bytes']} {row['text']}")
        for path, metric in run["metrics"].items():
            if metric["value"] != 0:
                yield f"{path} {metric['value']} {metric['unit']}"
        for flow in run.get("flows", []):
            yield (f"flow {flow['from']} {flow['to']} {flow['bytes']} {flow['start_ps']} "
                   f"{flow['finish_ps']} {flow['ideal_ps']}")
        for violation in run["violations"]:
            yield f"violation {violation['kind']} {violation['where']}"


def run(path):
    result = subprocess.run([RNICSIM, "run", str(path), "--json", "--jobs", "2"],
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{path.name}: exit {result.returncode}\n{result.stderr}")
    return list(lines_of(json.loads(result.stdout)))


def main(is_mine):
    scenarios = [path for path in sorted(SCENARIOS.glob("*.json")) if is_mine(path.stem)]
    if not scenarios:
        sys.exit("no scenarios found")
    failed = False
    for path in scenarios:
        golden = GOLDEN / (path.stem + ".txt")
        found = run(path)
        if UPDATE:
            GOLDEN.mkdir(exist_ok=True)
            golden.write_text("\n".join(found) + "\n")
            continue
        wanted = golden.read_text().splitlines() if golden.exists() else []
        if found == wanted:
            continue
        failed = True
        differing = [(w, f) for w, f in zip(wanted, found) if w != f]
        print(f"{path.stem}: {len(differing)} lines differ, {len(wanted)} wanted, {len(found)} found")
        for want, find in differing[:SHOWN]:
            print(f"  - {want}\n  + {find}")
    known = {path.stem for path in scenarios}
    for golden in GOLDEN.glob("*.txt"):
        if is_mine(golden.stem) and golden.stem not in known:
            failed = True
            print(f"{golden.name}: there is no such scenario")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(lambda name: name not in LONG)
