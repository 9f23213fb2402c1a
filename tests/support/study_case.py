# SPDX-License-Identifier: MIT
"""A small study in a folder of its own, and what tests do with it: simulate it, look at what it
left, hold it at a certain place."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
RESULTS = ("results.csv", "results.json", "report.html")
PATIENCE = 120  # seconds until something that comes for sure is given up

BASE = {"hosts": [{"name": "A"}, {"name": "B"}],
        "workload": [{"name": "w0", "from": "A", "to": "B", "size": "4 KiB", "count": 20}]}
STUDY = {
    "title": "Sizes and pages",
    "base": "base.json",
    "axes": [{"path": "workload.w0.size", "log": {"from": "64 B", "to": "4 KiB", "steps": 4}},
             {"path": "hosts.*.memory.page_size", "values": ["4 KiB", "2 MiB"]}],
    "metrics": [{"name": "goodput", "metric": "workload.w0.goodput", "better": "more"},
                {"name": "latency", "metric": "workload.w0.latency.p50", "better": "less"},
                {"name": "cycles", "metric": "host.A.cpu.data.*.cycles", "per": "workload.w0.bytes",
                 "better": "less"}],
    "cost": {"name": "SRAM", "unit": "B",
             "expression": "hosts.B.nic.translation_cache.entries * 8"},
}
# For all points to be simulated before one is met that is being simulated, this process would have
# to stand still for half a second.
LONG = {"workload.w0.count": 8000, "engine.payload": "elided"}


def children_of(pid):
    """Process ids; none if it has ended."""
    ids = []
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            ids += [int(child) for child in children.read_text().split()]
        except OSError:
            pass
    return ids


def state_of(pid):
    """As proc(5) has it: T stopped, Z and X ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def stop(pid):
    """True: it stands still now; false: it had ended."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return False
    while state_of(pid) not in "TZX":
        time.sleep(0.001)
    return state_of(pid) == "T"


def stop_workers_of(pids):
    """One of each of these processes that simulate; it stands still, with what it simulates, until
    it is told to go on."""
    stopped = {}
    deadline = time.monotonic() + PATIENCE
    while len(stopped) < len(pids):
        for pid in pids:
            if pid in stopped:
                continue
            if state_of(pid) in "ZX" or time.monotonic() > deadline:
                raise AssertionError("it came to its end before a worker could be stopped")
            worker = next((child for child in children_of(pid) if stop(child)), None)
            if worker is not None:
                stopped[pid] = worker
        time.sleep(0.001)
    return [stopped[pid] for pid in pids]


def stop_a_worker_of(pid):
    return stop_workers_of([pid])[0]


class StudyCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write(BASE, "base.json")
        self.write(STUDY)

    def write(self, content, name="study.json"):
        (self.root / name).write_text(json.dumps(content))

    def study(self, **changes):
        self.write({**STUDY, **changes})

    def command(self, *options, out="out"):
        return [RNICSIM, "sweep", str(self.root / "study.json"), "--out", str(self.root / out),
                *options]

    def sweep(self, *options, out="out"):
        result = subprocess.run(self.command(*options, out=out), capture_output=True, text=True,
                                check=False, cwd=self.root)
        return result.returncode, result.stdout, said(result.stderr)

    def good(self, *options, out="out"):
        status, text, err = self.sweep(*options, out=out)
        self.assertEqual((status, err), (0, ""))
        return text

    def points(self, out="out"):
        """Names of the kept points, with when each was written."""
        return {path.name: path.stat().st_mtime_ns
                for path in (self.root / out / "points").glob("*.json")}

    def locks(self):
        return sorted(path.name for path in (self.root / "out/points").glob("*.lock"))

    def wait_for(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)

    def assert_same_results(self, one, other):
        for name in RESULTS:
            self.assertEqual((self.root / one / name).read_bytes(),
                             (self.root / other / name).read_bytes(), name)

    def assert_as_by_one_process(self):
        self.good("-q", out="whole")
        self.assert_same_results("out", "whole")

    def rows(self, out="out"):
        with open(self.root / out / "results.csv", newline="") as file:
            return list(csv.DictReader(file))
