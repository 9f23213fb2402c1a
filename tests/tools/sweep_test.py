#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rnicsim sweep from the outside: results, interruption and resumption, shards, failing points, and
what it refuses."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said
from study_case import LONG, RESULTS, RNICSIM, STUDY, StudyCase, stop_a_worker_of

STUDIES = pathlib.Path(__file__).resolve().parents[2] / "scenarios/studies"


class Sweep(StudyCase):
    def test_a_study_has_a_row_for_each_point_and_a_verdict(self):
        text = self.good()
        rows = self.rows()
        self.assertEqual([(row["size"], row["page_size"]) for row in rows],
                         [(size, page) for size in ("64 B", "256 B", "1 KiB", "4 KiB")
                          for page in ("4 KiB", "2 MiB")])
        self.assertEqual({row["error"] for row in rows}, {""})
        goodput = [float(row["goodput"]) for row in rows]
        self.assertLess(goodput[0] * 5, goodput[6])
        document = json.loads((self.root / "out/results.json").read_text())
        self.assertEqual(document["metrics"][2]["unit"], "cycles/B")
        self.assertEqual(document["verdict"][0]["dimensions"][0]["labels"][0], "64 B")
        self.assertIn("goodput still improves at the end of size: the last step", text)
        self.assertIn("8 points\n", text)

    def test_the_same_values_are_measured_as_by_run(self):
        self.good("--filter", "size = '256 B' and page_size = '2 MiB'")
        run = subprocess.run([RNICSIM, "run", str(self.root / "base.json"), "--json", "--set",
                              "workload.w0.size=256 B", "--set", "hosts.*.memory.page_size=2 MiB"],
                             capture_output=True, text=True, check=True)
        metrics = json.loads(run.stdout)["runs"][0]["metrics"]
        (row,) = self.rows()
        self.assertEqual(float(row["latency"]), metrics["workload.w0.latency.p50"]["value"])
        self.assertAlmostEqual(float(row["goodput"]), metrics["workload.w0.goodput"]["value"])

    def interrupt_after(self, count, *options):
        """Starts a sweep, interrupts it while it simulates the point after so many, and gives its
        end."""
        process = subprocess.Popen(self.command("--jobs", "1", *options), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        while True:
            worker = stop_a_worker_of(process.pid)
            there = len(self.points())
            if there >= count:
                break
            os.kill(worker, signal.SIGCONT)
            self.wait_for(lambda: len(self.points()) > there)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        return process.returncode, said(err)

    def test_an_interrupted_study_goes_on_and_ends_as_one_that_was_not(self):
        self.study(set=LONG)
        status, err = self.interrupt_after(2)
        self.assertEqual(status, 130, err)
        self.assertIn("--resume goes on with them\nrnicsim: interrupted\n", err)
        kept = self.points()
        self.assertGreaterEqual(len(kept), 2)
        self.assertLess(len(kept), 8)
        self.assertFalse((self.root / "out/results.csv").exists())
        self.good("--resume")
        self.assertEqual({name: self.points()[name] for name in kept}, kept)
        self.good(out="whole")
        self.assert_same_results("out", "whole")

    def test_a_used_folder_is_not_mixed_up_by_mistake(self):
        self.good("-q")
        status, out, err = self.sweep()
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r"^\S+/out/points: holds points already; --resume uses them, or .*\n$")

    def test_a_grown_study_simulates_only_what_is_new(self):
        self.good("-q")
        before = self.points()
        self.study(axes=[{"path": "workload.w0.size",
                          "values": ["64 B", "256 B", "512 B", "1 KiB", "4 KiB"]},
                         STUDY["axes"][1]])
        self.good("-q", "--resume")
        after = self.points()
        self.assertEqual(len(after), 10)
        self.assertEqual({name: after[name] for name in before}, before)
        self.good("-q", out="whole")
        self.assert_same_results("out", "whole")

    def test_another_metric_needs_no_simulation(self):
        self.good("-q")
        before = self.points()
        self.study(metrics=[{"name": "messages", "metric": "workload.w0.completed",
                             "better": "more"}])
        self.good("-q", "--resume")
        self.assertEqual(self.points(), before)
        self.assertEqual({row["messages"] for row in self.rows()}, {"20"})

    def test_shards_and_their_merger_give_the_bytes_of_one_sweep(self):
        self.good("--shard", "1/2")
        self.assertEqual(len(self.points()), 4)
        status, _, err = self.sweep("--merge")
        self.assertEqual(status, 2)
        self.assertRegex(err, r"^\S+/out/points: 4 of 8 results are not there yet\n$")
        self.assertEqual(self.good("--shard", "2/2"),
                         "4 points simulated, 0 were there already\n")
        self.assertEqual(self.good("--shard", "2/2"),
                         "0 points simulated, 4 were there already\n")
        self.good("--merge")
        self.good("--jobs", "4", out="whole")
        self.assert_same_results("out", "whole")

    def test_a_point_whose_file_is_broken_is_simulated_again(self):
        self.good("-q")
        before = {name: (self.root / "out" / name).read_bytes() for name in RESULTS}
        points = sorted((self.root / "out/points").glob("*.json"))
        kept = [path.read_bytes() for path in points[:3]]
        points[0].write_bytes(b"{}")
        points[1].unlink()
        points[2].write_bytes(kept[2][:-100])
        self.good("-q", "--resume")
        self.assertEqual([path.read_bytes() for path in points[:3]], kept)
        self.assertEqual({name: (self.root / "out" / name).read_bytes() for name in RESULTS}, before)

    def test_results_that_vanish_or_break_meanwhile_are_simulated_again(self):
        self.study(set=LONG)
        self.good("-q")
        whole = {name: (self.root / "out" / name).read_bytes() for name in RESULTS}
        points = sorted((self.root / "out/points").glob("*.json"))
        kept = [path.read_bytes() for path in points]
        for path in points[3:]:
            path.unlink()
        process = subprocess.Popen(self.command("-q", "--resume"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        worker = stop_a_worker_of(process.pid)
        points[0].unlink()
        points[1].write_bytes(kept[1][:-100])
        # Its beginning and its end are those of a result.
        points[2].write_bytes(kept[2][:200] + b'"' + kept[2][200:])
        os.kill(worker, signal.SIGCONT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, said(err)), (0, "", ""))
        for path, content in zip(points, kept):
            self.assertTrue(path.read_bytes() == content, path)
        for name in RESULTS:
            self.assertTrue((self.root / "out" / name).read_bytes() == whole[name], name)

    def test_a_file_that_the_scenario_names_is_part_of_a_point(self):
        self.write({"hosts": [{"name": "h", "count": 3}], "fabric": {"topology": "star"},
                    "workload": [{"name": "w0", "pattern": "flow_file", "file": "flows.txt"}]},
                   "base.json")
        self.write({"base": "base.json", "axes": [{"path": "seed", "values": [1]}], "metrics": [
            {"name": "bytes", "metric": "workload.w0.flows.bytes", "better": "more"}]})
        for size in ("5000", "6000"):
            (self.root / "flows.txt").write_text(f"1\n0 1 3 100 {size} 2.0\n")
            self.good("-q", "--resume")
            self.assertEqual([row["bytes"] for row in self.rows()], [size])
        self.assertEqual(len(self.points()), 2)
        self.good("-q", "--resume")
        self.assertEqual(len(self.points()), 2)

    def test_another_program_has_other_points(self):
        """Also where the linker gave it no build id, as some do."""
        program = self.root / "rnicsim"
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", RNICSIM, str(program)],
                       check=True)
        command = [str(program), *self.command("-q", "--resume", "--filter", "size = '64 B'")[1:]]
        subprocess.run(command, check=True)
        self.assertEqual(len(self.points()), 2)
        subprocess.run(command, check=True)
        self.assertEqual(len(self.points()), 2)
        with open(program, "ab") as file:
            file.write(b"changed")
        subprocess.run(command, check=True)
        self.assertEqual(len(self.points()), 4)
        self.good("-q", "--resume", "--filter", "size = '64 B'")
        self.assertEqual(len(self.points()), 6)

    def test_a_shard_with_failing_points_says_so(self):
        self.study(axes=[{"path": "workload.w0.size", "values": ["64 B", "many", "256 B", "few"]},
                         {"path": "stop_at", "values": ["3 us", "1 s"]}])
        # Of the eight points four cannot be read, and two do not come to their end.
        self.assertEqual(self.sweep("--shard", "1/2"),
                         (1, "2 points simulated, 0 were there already\n",
                          "4 points of the shard failed; --merge says how\n"))
        self.assertEqual(self.sweep("--shard", "1/2", "-q"),
                         (1, "", "4 points of the shard failed; --merge says how\n"))
        self.assertEqual(self.sweep("--shard", "2/2", "-q"),
                         (1, "", "2 points of the shard failed; --merge says how\n"))
        status, out, err = self.sweep("--merge")
        self.assertEqual((status, len(err.splitlines())), (1, 6))
        self.assertIn("8 points, 6 of which failed\n", out)
        self.assertEqual(self.sweep(out="whole"), (status, out.replace("out/", "whole/"), err))
        self.assert_same_results("out", "whole")

    def test_a_failing_point_is_a_row_with_its_error(self):
        self.study(axes=[{"path": "workload.w0.size", "values": ["64 B", "many", "256 B"]}])
        status, out, err = self.sweep()
        self.assertEqual(status, 1)
        self.assertIn("3 points, 1 of which failed", out)
        self.assertRegex(err, r"^study: point 1 \(size many\): \S+study.json:\d+: workload.0.size: "
                              r"expected .*found \"many\".*\n$")
        rows = self.rows()
        self.assertEqual([bool(row["error"]) for row in rows], [False, True, False])
        self.assertEqual(rows[1]["goodput"], "")
        self.assertNotEqual(rows[2]["goodput"], "")

    def test_points_that_all_fail_for_reasons_of_their_own_are_rows(self):
        self.study(axes=[{"path": "workload.w0.size", "values": ["-1 B", "many"]}])
        status, out, err = self.sweep()
        self.assertEqual((status, len(err.splitlines())), (1, 2), err)
        self.assertIn("2 points, 2 of which failed\n", out)
        self.assertIn('found "-1 B"', self.rows()[0]["error"])
        self.assertIn('found "many"', self.rows()[1]["error"])

    def test_a_point_that_comes_to_no_proper_end_has_no_values(self):
        self.study(axes=[{"path": "stop_at", "values": ["3 us", "1 s"]}])
        status, _, err = self.sweep()
        self.assertEqual(status, 1)
        self.assertIn("study: point 0 (stop_at 3 us): unfinished_flow at ", err)
        rows = self.rows()
        self.assertEqual(rows[0]["goodput"], "")
        self.assertEqual(rows[1]["error"], "")

    def test_seeds_give_confidence(self):
        self.study(repeats=3, set={"workload.w0.region": "8 MiB", "workload.w0.count": 400,
                                   "workload.w0.remote_offset": "random"},
                   axes=[STUDY["axes"][1]])
        self.good("-q")
        self.assertEqual([row["repeat"] for row in self.rows()], ["0", "1", "2"] * 2)
        verdict = json.loads((self.root / "out/results.json").read_text())["verdict"][1]
        self.assertEqual([cell["runs"] for cell in verdict["cells"]], [3, 3])
        self.assertGreater(verdict["cells"][0]["half_width"], 0)

    def refused(self, *options):
        status, out, err = self.sweep(*options)
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(len(err.splitlines()), 1, err)
        return err

    def test_what_is_wrong_is_said_in_one_line_before_anything_runs(self):
        self.assertIn("--shard: expected I/N with I from 1 to N, found \"3/2\"",
                      self.refused("--shard", "3/2"))
        self.assertIn("--filter: no axis \"sise\", did you mean \"size\"?",
                      self.refused("--filter", "sise = 1"))
        self.assertIn("--filter: it holds for no point", self.refused("--filter", "size = '3 B'"))
        self.assertIn("--merge goes without --shard", self.refused("--merge", "--shard", "1/2"))
        self.study(axes=[{"path": "workload.w0.sise", "values": [1, 2]}])
        self.assertRegex(self.refused(), r"study.json:1: workload.0.sise: unknown key, did you "
                                         r"mean \"size\"\?")
        self.study(base="nothing.json")
        self.assertIn("nothing.json", self.refused())
        self.assertFalse((self.root / "out").exists())

    def test_a_metric_that_no_point_has_is_warned_of_and_the_others_are_judged(self):
        self.study(metrics=[STUDY["metrics"][0],
                            {"name": "m", "metric": "workload.w9.goodput", "better": "more"},
                            {"name": "c", "metric": "workload.w0.complted", "better": "more"},
                            {"name": "p", "metric": "workload.w0.completed",
                             "per": "workload.w0.byte", "better": "more"}])
        warnings = [f"{name}: no point has the metric \"workload.{found}; did you mean "
                    f"\"workload.{meant}\"?"
                    for name, found, meant in (("m", 'w9.goodput"', "w0.goodput"),
                                               ("c", 'w0.complted", which counts as 0',
                                                "w0.completed"),
                                               ("p", 'w0.byte"', "w0.bytes"))]
        status, _, err = self.sweep("-q")
        self.assertEqual((status, err.splitlines()),
                         (0, ["study: warning: " + text for text in warnings]))
        document = json.loads((self.root / "out/results.json").read_text())
        self.assertEqual(document["warnings"], warnings)
        self.assertEqual([verdict["sentences"][0][:22] for verdict in document["verdict"]],
                         ["goodput still improves", "No point has a value o",
                          "c is the same at every", "No point has a value o"])
        self.assertEqual({(row["m"], row["c"], row["p"]) for row in self.rows()}, {("", "0", "")})
        self.assertIn("warning: m: no point has the metric", self.good("--resume"))

    def test_the_shipped_study_of_pfc_is_written_though_dropping_points_have_no_throughput(self):
        study = json.loads((STUDIES / "pfc.json").read_text())
        self.write({**study, "base": "headroom_too_small"})
        text = self.good("--filter", "headroom = '20 KiB' and length = '300 m'")
        self.assertIn("No point has a value of throughput.", text)
        self.assertIn("warning: throughput: no point has the metric \"workload.a.goodput\"", text)
        self.assertEqual([(row["completed_share"], row["throughput"]) for row in self.rows()],
                         [("0", "")] * 2)

    def test_json_prints_the_results_and_nothing_else(self):
        out = self.good("--json", "--filter", "size = '64 B'")
        self.assertEqual(out, (self.root / "out/results.json").read_text())
        self.assertEqual(len(json.loads(out)["points"]), 2)

    def test_shipped_studies_are_found_by_name_and_can_be_read(self):
        names = sorted(path.stem for path in STUDIES.glob("*.json"))
        self.assertEqual(names, ["context_cache", "dcqcn", "doorbells", "interrupt_moderation",
                                 "mtu", "pcie", "pfc", "read_tags", "translation_cache"])
        for name in names:
            result = subprocess.run([RNICSIM, "sweep", name, "--merge", "--out",
                                     str(self.root / name)], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(said(result.stderr), r": (\d+) of \1 results are not there yet\n$",
                             name)


if __name__ == "__main__":
    unittest.main()
