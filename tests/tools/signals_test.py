#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rnicsim run` shows of a run while it goes on: waveforms (--vcd), time series (--csv), traces
(--perfetto) and the live view (--watch). GTKWave's own reader judges the waveforms."""
import collections
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
SANITIZED = "sanitize" in os.environ.get("RNICSIM_BUILD", "")
TWO_HOSTS = {"title": "two", "hosts": [{"name": "A"}, {"name": "B"}],
             "workload": [{"name": "w0", "from": "A", "to": "B", "size": "64 KiB", "count": 4}]}


def rnicsim(*arguments):
    result = subprocess.run([RNICSIM, *map(str, arguments)], capture_output=True, text=True,
                            timeout=300, check=False)
    return result.returncode, result.stdout, said(result.stderr)


class Dump:
    """A value change dump: {path: [(ps, value)]}."""

    def __init__(self, text):
        self.changes = collections.defaultdict(list)
        names, scope, now = {}, [], 0
        assert "".join(text.split("$timescale")[1].split("$end")[0].split()) == "1ps"
        for line in text.splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] == "$scope":
                scope.append(words[2])
            elif words[0] == "$upscope":
                scope.pop()
            elif words[0] == "$var":
                names[words[3]] = ".".join(scope + [words[4]])
            elif line[0] == "#":
                now = int(line[1:])
            elif line[0] in "bs":
                self.add(names[words[1]], now, words[0])
            elif line[0] in "01":
                self.add(names[line[1:]], now, "b" + line[0])
        assert not scope

    def add(self, path, now, value):
        value = int(value[1:], 2) if value[0] == "b" else value[1:]
        changes = self.changes[path]
        if not changes or changes[-1][1] != value:
            changes.append((now, value))

    def values(self, path):
        return [value for _, value in self.changes[path]]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def scenario(self, name="two.json", **changes):
        path = self.out / name
        path.write_text(json.dumps(dict(TWO_HOSTS, **changes)), encoding="utf-8")
        return path


class Waveform(Folder):
    def dump(self, *arguments):
        """As the program wrote it, after GTKWave's reader and writer have agreed to it."""
        file = self.out / "w.vcd"
        self.assertEqual(rnicsim("run", "-q", "--vcd", file, *arguments)[1:], ("", ""))
        ours = Dump(file.read_text(encoding="utf-8"))
        subprocess.run(["vcd2fst", "-v", file, "-f", self.out / "w.fst"], check=True,
                       capture_output=True)
        back = subprocess.run(["fst2vcd", "-f", self.out / "w.fst"], check=True,
                              capture_output=True, text=True).stdout
        self.assertEqual(Dump(back).changes, ours.changes)
        return ours

    def test_the_key_checker_goes_through_its_states_to_a_pass(self):
        dump = self.dump("write_8step", "--variant", "base")
        states = dump.values("host.B.nic0.key_checker.state")
        states = [state for state in states if state not in ("idle", "wait")]
        self.assertEqual(states[:7], ["key_lookup", "valid", "protection_domain", "bounds",
                                      "access_rights", "translate", "pass"])
        self.assertNotIn("nak", states)
        self.assertEqual(set(dump.values("host.A.nic0.key_checker.state")), {"idle"})
        self.assertIn("busy", dump.values("host.B.nic0.responder.state"))
        queued = dump.values("host.A.nic0.doorbell.queued")
        self.assertEqual((queued[0], queued[1], queued[-1]), (0, 1, 0))

    def test_a_key_that_is_refused_ends_in_a_nak(self):
        dump = self.dump("rkey_refused", "--variant", "base")
        states = [state for state in dump.values("host.B.nic0.key_checker.state")
                  if state not in ("idle", "wait")]
        self.assertEqual(states[-1], "nak")
        self.assertNotIn("pass", states)

    def test_pauses_and_queues_of_a_switch_are_seen(self):
        dump = self.dump("incast", "--variant", "base", "--signals", "fabric.*")
        self.assertEqual({path.split(".")[0] for path in dump.changes}, {"fabric"})
        self.assertGreater(max(dump.values("fabric.switch0.port0.queued")), 1 << 20)
        senders = self.dump("incast", "--variant", "base", "--signals", "host.h1.*paused")
        changes = senders.changes["host.h1.nic0.port.prio3_paused"]
        self.assertEqual([value for _, value in changes][:3], ["no", "yes", "no"])
        result = json.loads(rnicsim("run", "incast", "--variant", "base", "--json")[1])
        metrics = result["runs"][0]["metrics"]
        stopped = sum(after[0] - before[0] for before, after in zip(changes, changes[1:])
                      if before[1] == "yes")
        self.assertEqual(stopped, metrics["host.h1.nic0.port.rx_prio3_pause_duration"]["value"])

    def test_a_part_of_the_run_is_the_whole_cut_off(self):
        whole = self.dump("write_8step", "--variant", "base")
        part = self.dump("write_8step", "--variant", "base", "--from", "141 us", "--until",
                         "142 us")
        path = "host.B.nic0.key_checker.state"
        inside = [change for change in whole.changes[path] if 141e6 < change[0] <= 142e6]
        before = [change for change in whole.changes[path] if change[0] <= 141e6]
        self.assertEqual(part.changes[path], [(141000000, before[-1][1])] + inside)

    def test_bad_requests_are_one_line_and_leave_no_file(self):
        file = self.out / "w.vcd"
        for arguments, line in (
                (["--vcd", file, "--signals", "host.C.*"],
                 '--signals: expected signals of this run that a waveform has, such as '
                 '"host.A.nic0.pcie.upstream.undelivered", found "host.C.*", which matches none'),
                (["--vcd", file, "--from", "3 us", "--until", "2 us"],
                 "rnicsim run: --until: expected a time after --from; "),
                # The address sanitizer takes what this one unwinds for a broken stack.
                *([] if SANITIZED else [(["--vcd", file, "--from", "1 s"],
                                         f"{file}: the run ended at 208.9")]),
                (["--vcd", self.out], f"{self.out}: cannot be written: it is a folder\n"),
                (["--from", "1 us"], "rnicsim run: --from and --until go with --log and --vcd; "),
                (["--signals", "*"],
                 "rnicsim run: --signals goes with --vcd, --csv, --perfetto and --report; "),
                (["--vcd", file, "--interval", "1 us"],
                 "rnicsim run: --interval goes with --csv, --perfetto and --report; ")):
            status, _, text = rnicsim("run", "write_8step", "--variant", "base", "-q", *arguments)
            self.assertEqual(status, 2)
            self.assertTrue(text.startswith(line), text)
        self.assertEqual(list(self.out.iterdir()), [])


class Series(Folder):
    def read(self, name):
        with open(self.out / "csv" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_what_a_series_adds_up_to_is_what_the_counters_say(self):
        result = rnicsim("run", self.scenario(), "--json", "--csv", self.out / "csv",
                         "--interval", "1 us")
        self.assertEqual(result[0], 0)
        run = json.loads(result[1])["runs"][0]
        rows = self.read("two.series.csv")
        ends = [int(row["end_ps"]) for row in rows]
        self.assertEqual(ends[:-1], [1000000 * (i + 1) for i in range(len(rows) - 1)])
        self.assertEqual(ends[-1], run["end_ps"])
        for column, metric in (("host.A.nic0.port.tx_bytes [b/s]", "host.A.nic0.port.tx_bytes"),
                               ("host.B.nic0.port.rx_bytes [b/s]", "host.B.nic0.port.rx_bytes")):
            begins = [0] + ends
            bits = sum(float(row[column]) * (end - begin) / 1e12
                       for row, begin, end in zip(rows, begins, ends))
            self.assertAlmostEqual(bits / 8, run["metrics"][metric]["value"], places=3)
        signals = {row["path"]: row for row in self.read("two.signals.csv")}
        self.assertEqual(signals["host.A.nic0.port.tx_bytes"]["unit"], "b/s")
        self.assertEqual(int(signals["host.A.nic0.port.tx_bytes"]["limit"]), 100000000000)
        self.assertEqual(len(signals), len(rows[0]) - 1)
        rate = max(float(row["host.A.nic0.port.tx_bytes [b/s]"]) for row in rows)
        self.assertLess(rate, 1.1e11)
        self.assertGreater(rate, 5e10)

    def test_pauses_are_intervals_and_add_up_to_the_counter(self):
        result = rnicsim("run", "incast", "--variant", "base", "--json", "--csv", self.out / "csv")
        metrics = json.loads(result[1])["runs"][0]["metrics"]
        stopped = sum(int(row["end_ps"]) - int(row["begin_ps"])
                      for row in self.read("incast.pauses.csv")
                      if (row["port"], row["priority"]) == ("host.h1.nic0", "3"))
        self.assertGreater(stopped, 0)
        self.assertEqual(stopped, metrics["host.h1.nic0.port.rx_prio3_pause_duration"]["value"])

    def test_no_share_of_a_core_or_a_wire_is_above_one(self):
        tick = 'hosts.*.cpu.tick={"interval": "100 us", "work": "10000 cycles"}'
        self.assertEqual(rnicsim("run", "write_8step", "--variant", "base", "-q", "--set", tick,
                                 "--csv", self.out / "csv", "--interval",
                                 "100 ns")[1:], ("", ""))
        signals = {row["path"]: row for row in self.read("write_8step.signals.csv")}
        rows = self.read("write_8step.series.csv")
        for path in ("host.A.cpu.core0.work", "host.B.cpu.core0.work"):
            shares = [float(row[path + " [ratio]"]) for row in rows]
            self.assertLessEqual(max(shares), 1.0001)
            self.assertGreater(max(shares), 0.9)
        for path in ("host.A.nic0.port.tx_bytes", "host.B.nic0.port.tx_bytes"):
            most = max(float(row[path + " [b/s]"]) for row in rows)
            # A gap's 12 B and a preamble's 8 B of 1250 B in 100 ns.
            self.assertLessEqual(most, 1.02 * int(signals[path]["limit"]))
            self.assertGreater(most, 0)

    def test_of_several_runs_each_has_its_files(self):
        two = self.scenario(variants=[{"name": "small", "set": {"workload.0.size": "64 B"}}])
        self.assertEqual(rnicsim("run", two, "-q", "--csv", self.out / "csv", "--signals",
                                 "host.A.nic0.port.*"), (0, "", ""))
        self.assertEqual(sorted(path.name for path in (self.out / "csv").iterdir()),
                         [f"two{variant}.{kind}.csv" for variant in ("", ".small")
                          for kind in ("pauses", "series", "signals")])
        self.assertEqual(list(self.read("two.small.series.csv")[0])[1:],
                         ["host.A.nic0.port.tx_queued [count]", "host.A.nic0.port.tx_bytes [b/s]",
                          "host.A.nic0.port.paused [ratio]",
                          "host.A.nic0.port.receive_buffer [B]",
                          "host.A.nic0.port.rx_bytes [b/s]"])

    def test_bad_intervals_are_refused(self):
        for interval, found in (("0 ns", "expected a time above zero"), ("x", "expected a time")):
            status, _, line = rnicsim("run", "write_8step", "-q", "--csv", self.out / "csv",
                                      "--interval", interval)
            self.assertEqual(status, 2)
            self.assertIn(found, line)
        status, _, line = rnicsim("run", "incast", "--variant", "base", "-q", "--csv",
                                  self.out / "csv", "--interval", "1 ps")
        self.assertEqual(status, 2)
        self.assertIn("(--signals chooses fewer)", line)
        self.assertFalse((self.out / "csv").exists())


class Trace(Folder):
    def test_a_written_trace_is_sound(self):
        file = self.out / "t.json"
        self.assertEqual(rnicsim("run", "write_8step", "--variant", "base", "-q", "--perfetto",
                                 file), (0, "", ""))
        events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
        kinds = collections.defaultdict(list)
        for event in events:
            kinds[event["ph"]].append(event)
        self.assertEqual(set(kinds), {"M", "X", "s", "t", "f", "C"})
        processes = {event["pid"]: event["args"]["name"] for event in kinds["M"]
                     if event["name"] == "process_name"}
        tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in kinds["M"]
                  if event["name"] == "thread_name"}
        self.assertEqual(sorted(processes.values()), ["A", "B", "wire"])
        slices = collections.defaultdict(list)
        for event in kinds["X"]:
            self.assertIn((event["pid"], event["tid"]), tracks)
            self.assertGreaterEqual(event["dur"], 0)
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for of_track in slices.values():  # nothing half over something else
            for (_, end), (begin, _) in zip(sorted(of_track), sorted(of_track)[1:]):
                self.assertLessEqual(end, begin + 1e-9)
        names = {f"{processes[pid]}: {name}" for (pid, _), name in tracks.items()}
        for name in ("A: nic requester", "B: nic key_checker", "B: nic responder"):
            self.assertIn(name, names)
        flows = collections.defaultdict(list)
        for event in sorted(kinds["s"] + kinds["t"] + kinds["f"], key=lambda e: e["ts"]):
            self.assertIn(event["ts"], [begin for begin, _ in slices[event["pid"], event["tid"]]])
            flows[event["id"]].append(event["ph"])
        for phases in flows.values():
            self.assertEqual((phases[0], phases[-1]), ("s", "f"))
            self.assertEqual(set(phases[1:-1]), {"t"})
        self.assertGreaterEqual(max(map(len, flows.values())), 8)
        counters = collections.defaultdict(list)
        for event in kinds["C"]:
            self.assertIn(event["pid"], processes)
            counters[processes[event["pid"]], event["name"]].append(event)
        queue = counters["B", "nic0.port.receive_buffer [B]"]
        self.assertGreater(max(event["args"]["value"] for event in queue), 0)
        self.assertEqual(queue[-1]["args"]["value"], 0)
        for of_counter in counters.values():
            times = [event["ts"] for event in of_counter]
            self.assertEqual(times, sorted(set(times)))


class Watch(Folder):
    def test_the_last_look_is_shown_however_short_the_run_is(self):
        status, out, err = rnicsim("run", self.scenario(), "-q", "--watch")
        self.assertEqual((status, out), (0, ""))
        lines = err.splitlines()
        self.assertRegex(lines[0], r"^two: [0-9.]+ us simulated, the last [0-9.]+ us$")
        self.assertRegex(lines[1], r"^  host\.A\.nic0\.port +[0-9.]+ Gb/s +[#.]{20} +[0-9]+ % +"
                                   r"queued +0 packets +paused +0 %$")

    def test_a_result_is_the_same_bytes_whoever_looks(self):
        plain = rnicsim("run", "incast", "--variant", "base", "--json")
        watched = rnicsim("run", "incast", "--variant", "base", "--json", "--watch", "--vcd",
                          self.out / "w.vcd", "--csv", self.out / "csv", "--report",
                          self.out / "r.html", "--perfetto", self.out / "p.json")
        self.assertEqual(watched[:2], plain[:2])
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["csv", "p.json", "r.html", "w.vcd"])


if __name__ == "__main__":
    unittest.main()
