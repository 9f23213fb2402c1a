#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line as its users see it: exit statuses, messages, stdout against stderr, files."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said

PROGRAM = os.environ.get("RNICSIM", "build/release/rnicsim")
ROOT = pathlib.Path(__file__).resolve().parents[2]

SCENARIO = """{
  "title": "a test",
  "hosts": [
    { "name": "A" },
    { "name": "B" }
  ],
  "fabric": { "link": { "rate": "100 Gb/s", "mtu": "4200 B" } },
  "workload": [
    { "name": "w0", "from": "A", "to": "B", "size": "4 KiB", "path_mtu": "1024 B" }
  ],
  "variants": [ { "name": "small", "set": { "workload.w0.size": "64 B" } } ],
  "expect": [ { "metric": "host.B.cpu.data.busy", "equals": "0 ns" } ]
}
"""


def rnicsim(*arguments, cwd=None, environment=None):
    """Runs the program; returns status, stdout and stderr."""
    done = subprocess.run([os.path.abspath(PROGRAM), *arguments], cwd=cwd or ROOT, text=True,
                          capture_output=True, timeout=300, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, said(done.stderr)


class CommandLine(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.write(SCENARIO)

    def write(self, text, name="x.json"):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run_here(self, *arguments):
        return rnicsim(*arguments, cwd=self.folder)

    def refused(self, line, *arguments):
        """Exit 2, exactly this line on stderr, nothing on stdout, no file."""
        before = sorted(self.folder.iterdir())
        arguments = arguments or ("run", "x.json", "--out", "out")
        self.assertEqual(self.run_here(*arguments), (2, "", line + "\n"))
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def refused_with(self, old, new, line):
        self.assertIn(old, SCENARIO)
        self.write(SCENARIO.replace(old, new))
        self.refused(line)


class Help(CommandLine):
    COMMANDS = ["run", "check", "list", "show", "import", "schema", "validate"]

    def test_every_command_explains_itself(self):
        for command in self.COMMANDS:
            status, out, err = rnicsim(command, "--help")
            self.assertEqual((status, err), (0, ""), command)
            self.assertTrue(out.startswith(f"usage: rnicsim {command}"), out)
            self.assertEqual(rnicsim(command, "--version"), rnicsim("--version"))
        status, out, err = rnicsim("--help")
        self.assertEqual((status, err), (0, ""))
        for command in self.COMMANDS:
            self.assertIn(f"\n  {command} ", out)

    def test_the_version_is_one_line(self):
        status, out, err = rnicsim("--version")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^rnicsim \d+\.\d+\.\d+\n$")

    def test_bad_usage_is_one_line_and_exit_2(self):
        self.refused("rnicsim: unknown command \"runn\", did you mean \"run\"?", "runn")
        self.refused("rnicsim run: no scenario given; rnicsim run --help says how", "run")
        self.refused("rnicsim run: unrecognised option '--frob'; rnicsim run --help says how",
                     "run", "x.json", "--frob")
        self.refused("rnicsim run: --jobs: expected 1 to 1024, found 0; rnicsim run --help says how",
                     "run", "x.json", "--jobs", "0")
        self.refused("rnicsim list: expected scenarios, studies, presets, metrics or signals, "
                     "found \"x\"; rnicsim list --help says how", "list", "x")
        status, out, err = rnicsim()
        self.assertEqual((status, out, err.count("\n")), (2, "", 1))


class BadInput(CommandLine):
    def test_a_file_that_cannot_be_read(self):
        self.refused("y.json: cannot be read: No such file or directory", "run", "y.json")
        self.refused("no scenario \"write_8stp\", did you mean \"write_8step\"?",
                     "run", "write_8stp")

    def test_what_is_no_json(self):
        self.write("hello")
        status, out, err = self.run_here("run", "x.json", "--out", "out")
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r"^x\.json:1: not valid JSON: [^\n]+\n$")
        self.write(SCENARIO[:200])
        status, out, err = self.run_here("run", "x.json", "--out", "out")
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r"^x\.json:\d+: not valid JSON: [^\n]+\n$")

    def test_keys(self):
        self.refused_with('"size"', '"sise"',
                          'x.json:9: workload.0.sise: unknown key, did you mean "size"?')
        self.refused_with('"title": "a test"', '"title": "a", "title": "b"',
                          "x.json:2: title: duplicate key (first on line 2)")

    def test_quantities(self):
        self.refused_with('"100 Gb/s"', "100",
                          'x.json:7: fabric.link.rate: expected a rate such as "100 Gb/s", found 100 '
                          'without a unit (b/s, kb/s, Mb/s, Gb/s, Tb/s, B/s, kB/s, MB/s, GB/s, '
                          'TB/s, KiB/s, MiB/s, GiB/s)')
        self.refused_with('"4 KiB"', '"-4 KiB"',
                          'x.json:9: workload.0.size: expected a size such as "4 KiB", found '
                          '"-4 KiB", which has a sign')
        self.refused_with('"4 KiB"', '"4 TiB"',
                          'x.json:9: workload.0.size: expected 0 B to 2 GiB, found "4 TiB"')
        self.refused_with('"100 Gb/s"', '"0 Gb/s"',
                          'x.json:7: fabric.link.rate: expected 1 Mb/s to 3.2 Tb/s, '
                          'found "0 Gb/s"')
        self.refused_with('"1024 B"', '"1000 B"',
                          'x.json:9: workload.0.path_mtu: expected 256 B, 512 B, 1 KiB, 2 KiB or '
                          '4 KiB, found "1000 B"')

    def test_what_does_not_fit_together(self):
        self.refused_with('"to": "B"', '"to": "C"',
                          'x.json:9: workload.0.to: unknown host "C", did you mean "A"?')
        self.refused_with('"to": "B"', '"to": "A"',
                          "x.json:9: workload.0.to: loopback is not supported: `from` and `to` are "
                          "the same host")
        self.refused_with('"mtu": "4200 B"', '"mtu": "1024 B"',
                          "x.json:9: workload.0.path_mtu: 1 KiB of payload and 78 B of headers do "
                          "not fit fabric.link.mtu, 1 KiB")

    def test_options(self):
        self.refused('--set: workload.0.sise: unknown key, did you mean "size"?',
                     "run", "x.json", "--set", "workload.0.sise=4KiB")
        self.refused('--set: expected PATH=VALUE, found "seed"', "run", "x.json", "--set", "seed")
        self.refused('x.json: variants: unknown variant "smal", did you mean "small"?',
                     "run", "x.json", "--variant", "smal")

    def test_an_expectation_of_an_unknown_metric_leaves_no_output(self):
        self.refused_with("cpu.data.busy", "cpu.data.bussy",
                          'x.json:12: expect.0.metric: unknown metric "host.B.cpu.data.bussy", did '
                          'you mean "host.B.cpu.data.busy"?')

    def test_a_bad_file_among_good_ones_runs_nothing(self):
        self.write("{}", "bad.json")
        status, out, _ = self.run_here("run", "x.json", "bad.json", "--out", "out")
        self.assertEqual((status, out), (2, ""))
        self.assertFalse((self.folder / "out").exists())

    def test_a_folder_that_cannot_be_written(self):
        self.refused("x.json: cannot be written: it is no folder".replace(
            "x.json", str(self.folder.resolve() / "x.json")), "run", "x.json", "--out", "x.json/o")

    def test_check_names_every_bad_file(self):
        self.write("{", "bad.json")
        status, out, err = self.run_here("check", "bad.json", "x.json", "none.json")
        self.assertEqual((status, out), (2, "x.json: good, 2 runs\n"))
        self.assertEqual(err.count("\n"), 2)


class Run(CommandLine):
    def test_the_document_is_all_there_is_on_stdout(self):
        status, out, err = self.run_here("run", "x.json", "--json")
        self.assertEqual((status, err), (0, ""))
        document = json.loads(out)
        self.assertEqual((document["format"], document["version"]), ("rnicsim-result", 1))
        self.assertEqual([run["variant"] for run in document["runs"]], ["", "small"])
        self.assertEqual({run["scenario"] for run in document["runs"]}, {"x"})
        self.assertTrue(all(run["passed"] for run in document["runs"]))

    def test_the_same_bytes_every_time_and_for_any_number_of_jobs(self):
        results = {self.run_here("run", "x.json", "x.json", "--json", "--jobs", jobs)
                   for jobs in ("1", "2", "2", "4")}
        self.assertEqual(len(results), 1)

    def test_result_json_holds_what_json_prints(self):
        status, out, _ = self.run_here("run", "x.json", "--json", "--out", "a/b")
        self.assertEqual(status, 0)
        self.assertEqual((self.folder / "a/b/result.json").read_text(encoding="utf-8"), out)
        self.assertEqual([p.name for p in (self.folder / "a/b").iterdir()], ["result.json"])

    def test_quiet_says_nothing_when_all_is_well(self):
        self.assertEqual(self.run_here("run", "x.json", "--quiet"), (0, "", ""))

    def test_a_failed_expectation_is_exit_1_with_both_values(self):
        self.write(SCENARIO.replace('"equals": "0 ns"', '"at_least": "1 ns"'))
        status, out, err = self.run_here("run", "x.json", "--quiet", "--out", "out")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, "x: expectation failed: host.B.cpu.data.busy: expected at least "
                              "1 ns, found 0 ns\n")
        self.assertTrue((self.folder / "out/result.json").exists())
        self.assertIn("0 of 1 met", self.run_here("run", "x.json")[1])

    def test_a_run_that_does_not_finish_is_exit_1_and_says_who_waits_for_what(self):
        status, out, err = self.run_here("run", "x.json", "--quiet", "--variant", "base",
                                         "--set", "stop_at=1 us")
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r"^(x: unfinished_flow at [^\n]+\n)+$")

    def test_a_lost_packet_that_nobody_sends_again_is_a_deadlock_with_exit_1_unless_that_is_expected(self):
        lose = ("--variant", "base", "--set", "workload.w0.size=1 KiB",
                "--set", "workload.w0.ack_timeout=0", "--set",
                'fabric.link.faults=[{"kind": "drop", "name": "loss", "count": 1}]')
        status, out, err = self.run_here("run", "x.json", "--quiet", *lose)
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r"^x: deadlock at workload, [^\n]+: nothing is pending any more, but "
                              r"workload w0 on host A: [^\n]+, 0 of 1 messages completed; [^\n]+\n$")
        _, shown, _ = self.run_here("run", "x.json", *lose)
        self.assertRegex(shown, r"A-B wire +[0-9.]+ +link: RDMA WRITE Only, PSN \d+, is lost\n")
        self.write(SCENARIO.replace('"equals": "0 ns" }',
                                    '"equals": "0 ns" }, { "violation": "deadlock", "at_least": 1 },'
                                    '{ "metric": "fabric.link0.forward.faults.loss.fired",'
                                    ' "equals": 1 }'))
        self.assertEqual(self.run_here("run", "x.json", "--quiet", *lose), (0, "", ""))

    def test_a_damaged_packet_is_dropped_by_the_port_that_sees_it(self):
        for kind, counter in (("corrupt_icrc", "rx_icrc_errors"), ("corrupt_fcs", "rx_crc_errors")):
            _, out, _ = self.run_here("run", "x.json", "--json", "--variant", "base", "--set",
                                      'fabric.link.faults=[{"kind": "%s", "count": 1,'
                                      ' "direction": "forward", "opcode": "*middle"}]' % kind)
            run = json.loads(out)["runs"][0]
            metrics = run["metrics"]
            # The packets before it have landed, whatever becomes of the message.
            self.assertEqual(run["violations"], [])
            self.assertEqual(metrics["host.B.nic0.port." + counter]["value"], 1)
            self.assertEqual(metrics["fabric.link0.forward.faults.corrupted"]["value"], 1)
            self.assertNotIn("fabric.link0.backward.faults.corrupted", metrics)

    def test_a_value_can_be_set(self):
        _, out, _ = self.run_here("run", "x.json", "--json", "--variant", "base",
                                  "--set", "workload.*.size=2KiB", "--set", "seed=9")
        run = json.loads(out)["runs"][0]
        self.assertEqual(run["seed"], 9)
        self.assertEqual(run["configuration"]["workload"][0]["size"], "2 KiB")
        self.assertEqual(run["metrics"]["workload.w0.bytes"]["value"], 2048)

    def test_the_configuration_of_a_result_is_a_scenario_that_gives_the_same(self):
        run = json.loads(self.run_here("run", "x.json", "--json")[1])["runs"][1]
        self.write(json.dumps(run["configuration"]), "y.json")
        again = json.loads(self.run_here("run", "y.json", "--json")[1])["runs"][0]
        for key in ("configuration", "timeline", "metrics"):
            self.assertEqual(again[key], run[key], key)

    def test_one_variant_alone(self):
        _, out, _ = self.run_here("run", "x.json", "--json", "--variant", "small")
        self.assertEqual([run["variant"] for run in json.loads(out)["runs"]], ["small"])

    def test_a_scenario_goes_by_its_name(self):
        status, out, _ = rnicsim("run", "write_8step", cwd=self.folder)
        self.assertEqual(status, 0)
        by_path = rnicsim("run", str(ROOT / "scenarios/write_8step.json"))
        self.assertEqual(by_path[:2], (0, out))

    def test_the_view_fits_100_columns_and_has_no_colour_in_a_pipe(self):
        status, out, err = rnicsim("run", "write_8step")
        self.assertEqual((status, err), (0, ""))
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 100)
        self.assertLessEqual(out.count("\n"), 59)
        self.assertNotIn("\033", out)
        for step in range(1, 9):
            self.assertIn(f"\n {step}  ", out)
        self.assertIn("slept through every message", out)

    def test_an_interrupt_leaves_nothing_behind(self):
        self.write(SCENARIO.replace('"4 KiB"', '"1 MiB", "count": 1000000'))
        run = subprocess.Popen([os.path.abspath(PROGRAM), "run", "x.json", "--out", "out"],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=30)
        self.assertEqual((run.returncode, out, said(err)), (130, "", "rnicsim: interrupted\n"))
        self.assertFalse((self.folder / "out").exists())


    def test_the_log_goes_to_stderr_and_changes_nothing(self):
        plain = self.run_here("run", "x.json", "--json", "--variant", "base")
        status, out, err = self.run_here("run", "x.json", "--json", "--variant", "base",
                                         "--log", "host.B.nic0.*", "--from", "1 us")
        self.assertEqual((status, out), plain[:2])
        lines = err.splitlines()
        self.assertEqual(lines[0], "# x")
        self.assertGreater(len(lines), 3)
        self.assertTrue(all("host.B.nic0." in line for line in lines[1:]), err)
        self.refused("rnicsim run: --log: expected level fault, message or packet, found "
                     '"packets"; rnicsim run --help says how',
                     "run", "x.json", "--log", "*=packets")
        self.refused('rnicsim run: --until: expected a time such as "60 us", found "9"; '
                     'rnicsim run --help says how', "run", "x.json", "--log", "*", "--until", "9")


    def log_lines(self, choice):
        status, _, err = self.run_here("run", "x.json", "--quiet", "--variant", "base",
                                       "--log", choice)
        self.assertEqual(status, 0, err)
        return err.splitlines()[1:]

    def test_the_log_tells_the_control_channel_over_tcp_message_by_message(self):
        status, _, err = rnicsim("run", "write_8step", "--quiet",
                                 "--log", "host.A.nic0.kernel*=message")
        self.assertEqual(status, 0)
        out, back = "32768 > 18515, seq ", "18515 > 32768, seq "
        first, of_b = 1159134098, 3478966605
        # How long calls took is the timeline's to say.
        said_here = [re.sub(r";? ?(called, )?took [0-9.]+ ns$", "", line.split(" ns  ", 1)[1])
                     for line in err.splitlines()[1:]]
        self.assertEqual(said_here, [
            f"{'host.A.nic0.kernel.' + block:<32} {event:<26} {'':<18} {details}"
            for block, event, details in (
                ("socket", "program woken", f"{out}{first}, 0 B"),
                ("tcp", "connection established", f"{out}{first}, 0 B"),
                ("socket", "send returns", f"{out}{first}, 52 B"),
                ("socket", "program woken", f"{back}{of_b}, 52 B"),
                ("socket", "receive returns", f"{back}{of_b}, 4 B"),
                ("socket", "receive returns", f"{back}{of_b + 4}, 48 B"),
                ("socket", "send returns", f"{out}{first + 52}, 12 B"),
                ("tcp", "connection closed", f"{out}{first}, 0 B"))])

    def test_the_log_is_sorted_by_time_and_chosen_by_level(self):
        everything = self.log_lines("*")
        times = [float(line.split()[0]) for line in everything]
        self.assertEqual(times, sorted(times))
        self.assertFalse([line for line in everything if "(at " in line])
        self.assertEqual(everything, self.log_lines("*=packet"))
        messages = self.log_lines("*=message")
        self.assertEqual(messages, [line for line in everything if line in messages])
        said = "\n".join(messages)
        self.assertIn("doorbell rung", said)
        self.assertNotIn("packet sent", said)
        self.assertLess(len(messages), len(everything))
        self.assertEqual(self.log_lines("*=fault"), [])


class Others(CommandLine):
    def test_lists_have_a_line_for_each(self):
        _, out, _ = rnicsim("list")
        self.assertEqual(out, rnicsim("list", "scenarios")[1])
        self.assertRegex(out, r"(?m)^write_8step +One-sided RDMA WRITE")
        self.assertRegex(rnicsim("list", "presets")[1], r"(?m)^nic/rnic_100g +\S")
        status, out, err = rnicsim("list", "metrics")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"(?m)^host\.B\.cpu\.data\.busy +\[ps\] \S")
        status, out, err = rnicsim("list", "signals")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"(?m)^host\.B\.nic0\.key_checker\.state +\[idle, key_lookup, \S")
        self.assertRegex(out, r"(?m)^host\.A\.nic0\.port\.tx_bytes +\[b/s\] \S")
        self.assertRegex(out, r"(?m)^fabric\.switch0\.port1\.queued +\[B\] \S")

    def test_show_gives_values_units_and_sources(self):
        status, out, err = rnicsim("show", "xeon_2015")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"(?m)^  cpu\.frequency +3\.5 GHz +Intel")
        self.assertEqual(rnicsim("show", "host/xeon_2015")[1], out)
        self.assertEqual(rnicsim("show", "xeon_2051"),
                         (2, "", 'no preset "xeon_2051", did you mean "xeon_2015"?\n'))

    def test_show_marks_what_was_calibrated(self):
        out = rnicsim("show", "rnic_100g")[1]
        self.assertRegex(out, r"(?m)^\* requester\.wqe_interval +140 ns +calibrated")
        self.assertRegex(out, r"(?m)^  pcie\.tags ")
        self.assertRegex(out, r"(?m)^\d+ of \d+ values calibrated$")

    def test_every_shipped_scenario_is_good_and_the_schema_is_the_shipped_one(self):
        files = sorted((ROOT / "scenarios").glob("*.json")) + sorted(
            (ROOT / "scenarios/validation").glob("*.json"))
        status, _, err = rnicsim("check", *map(str, files))
        self.assertEqual((status, err), (0, ""))
        shipped = ROOT / "scenarios/schema/scenario.schema.json"
        self.assertEqual(rnicsim("schema")[1], shipped.read_text(encoding="utf-8"))

    def test_schema_files_are_written(self):
        self.assertEqual(self.run_here("schema", "--out", "s"), (0, "", ""))
        self.assertEqual(sorted(p.name for p in (self.folder / "s").iterdir()),
                         ["congestion_control_preset.schema.json",
                          "exerciser_preset.schema.json", "host_preset.schema.json",
                          "link_preset.schema.json", "nic_preset.schema.json", "scenario.schema.json",
                          "study.schema.json", "switch_preset.schema.json"])

    FLOWS = """{
  "hosts": [ { "name": "h", "count": 3 } ],
  "fabric": { "topology": "star" },
  "workload": [ { "name": "w0", "pattern": "flow_file", "file": "flow.txt" } ],
  "variants": [ { "name": "incast", "set": { "workload": [
    { "name": "w0", "pattern": "incast", "to": "h0", "size": "16 MiB" } ],
    "engine.payload": "elided" } } ]
}
"""

    def test_flows_come_from_a_file_beside_the_scenario_and_go_to_one_as_hpcc_has_them(self):
        self.write(self.FLOWS)
        self.write("2\n0 1 3 100 5000 2.0\n2 1 3 200 6000 2.00001\n", "flow.txt")
        status, _, err = rnicsim("run", str(self.folder / "x.json"), "-q", "--fct",
                                 str(self.folder / "fct.txt"), "--pfc",
                                 str(self.folder / "pfc.txt"))
        self.assertEqual((status, err), (0, ""))
        lines = (self.folder / "fct.x.txt").read_text(encoding="utf-8").splitlines()
        self.assertRegex(lines[0], r"^0b000001 0b000101 10000 100 5000 \d+ \d+ \d+$")
        self.assertRegex(lines[1], r"^0b000201 0b000101 10000 200 6000 \d+ \d+ \d+$")
        self.assertEqual(len(lines), 2)
        self.assertEqual((self.folder / "pfc.x.txt").read_text(encoding="utf-8"), "")
        lines = (self.folder / "fct.x.incast.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 2)
        lines = (self.folder / "pfc.x.incast.txt").read_text(encoding="utf-8").splitlines()
        self.assertGreater(len(lines), 0)
        for line in lines:
            self.assertRegex(line, r"^\d+ ([0-2] 0|3 1) \d [01]$")

    def test_a_topology_file_stands_beside_the_scenario_and_its_links_lose_what_it_says(self):
        self.write(self.FLOWS.replace('"topology": "star"',
                                      '"topology": "hpcc", "hpcc": { "file": "topology.txt" }'))
        self.write("1\n0 1 3 100 500000 2.0\n", "flow.txt")
        self.write("4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0.05\n2 3 40Gbps 1us 0\n",
                   "topology.txt")
        status, out, err = rnicsim("run", str(self.folder / "x.json"), "--variant", "base",
                                   "--json")
        self.assertEqual((status, err), (0, ""))
        metrics = json.loads(out)["runs"][0]["metrics"]
        self.assertGreater(metrics["fabric.link1.backward.faults.error_rate.fired"]["value"], 0)
        self.assertNotIn("fabric.link0.forward.faults.error_rate.fired", metrics)
        self.write("4 1 3\n3\n0 3 100Gbps 1us 0\n", "topology.txt")
        self.refused("topology.txt:3: line 1 says 3 links, the body has 1")

    def test_a_flow_file_that_is_wrong_is_named_with_its_line(self):
        self.write(self.FLOWS)
        self.write("2\n0 1 3 100 5000 2.0\n", "flow.txt")
        self.refused("flow.txt:2: line 1 says 2 flows, the body has 1")

    def test_a_glob_that_matches_no_validation(self):
        status, out, err = rnicsim("validate", "no_such_*")
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r'^[^\n]*/validation: no scenario matches "no_such_\*"\n$')


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
