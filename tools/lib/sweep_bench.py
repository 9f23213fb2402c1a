#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sweep_bench.py RNICSIM: how busy a study of 200 points keeps two cores.

Prints the processor time of all processes as a share of two cores' time; exit status 1 below 90 %.
The machine must have nothing else to do, or others' time is missing here."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

JOBS = 2
LEAST = 0.9
STUDY = {
    "base": "translation_misses",
    "set": {"workload.w0.count": 20000, "workload.w0.warm_up": 2000},
    "axes": [{"path": "hosts.*.nic.translation_cache.outstanding_misses",
              "linear": {"from": 1, "to": 20, "steps": 20}},
             {"path": "workload.w0.size", "values": ["512 B", "1 KiB", "2 KiB", "3 KiB", "4 KiB"]},
             {"path": "hosts.*.memory.page_size", "values": ["4 KiB", "2 MiB"]}],
    "metrics": [{"name": "throughput", "metric": "workload.w0.goodput", "better": "more"}],
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        study = pathlib.Path(folder) / "study.json"
        study.write_text(json.dumps(STUDY))
        began = time.monotonic()
        subprocess.run([sys.argv[1], "sweep", str(study), "--jobs", str(JOBS), "--quiet", "--out",
                        os.path.join(folder, "out")], check=True)
        wall = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = (used.ru_utime + used.ru_stime) / (JOBS * wall)
    print(f"200 points in {wall:.1f} s: {JOBS} cores {100 * busy:.1f} % busy")
    sys.exit(0 if busy >= LEAST else 1)


if __name__ == "__main__":
    main()
