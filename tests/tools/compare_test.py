#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rnicsim compare from the outside: tables, documents, the page, and what it refuses.

A browser looks at the page (chromium)."""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
BROWSER = "chromium"

SCENARIO = {
    "title": "Two ways to move 4 KiB",
    "hosts": [{"name": "A"}, {"name": "B"}],
    "workload": [{"name": "w0", "from": "A", "to": "B", "size": "4 KiB", "count": 10}],
    "variants": [{"name": "send", "set": {"workload.0.operation": "send"}},
                 {"name": "small", "set": {"workload.0.size": "64 B"}},
                 {"name": "small_send", "set": {"workload.0.size": "64 B",
                                                "workload.0.operation": "send"}}],
}
LAYOUT = {"tables": [
    {"title": "At the target",
     "columns": [{"title": "SEND", "variant": "send"}, {"title": "WRITE"}],
     "rows": [{"title": "messages", "metric": "workload.w0.completed"},
              {"group": "Who works", "title": "does B's CPU work",
               "metric": "host.B.cpu.data.busy",
               "words": {"none": "no, it sleeps", "some": "yes"}},
              {"title": "bytes to memory, each", "metric": "host.B.nic*.pcie.written.payload",
               "per": "workload.w0.completed"},
              {"title": "operation", "config": "workload.w0.operation"},
              {"title": "limited by", "metric": "workload.w0.limited_by"}]},
    {"title": "By size",
     "columns": [{"title": "SEND", "variant": "send"}, {"title": "WRITE", "variant": "write"}],
     "rows": [{"group": "payload", "chart": "lines", "title": "64 B", "metric": "workload.w0.bytes",
               "variant": "small_send"},
              {"title": "4 KiB", "metric": "workload.w0.bytes", "variant": "base"}]}]}


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name)

    def compare(self, scenario, *options):
        file = self.out / "x.json"
        file.write_text(json.dumps(scenario))
        result = subprocess.run([RNICSIM, "compare", str(file), *options], capture_output=True,
                                text=True, check=False)
        return result.returncode, result.stdout, said(result.stderr)

    def document(self, scenario, *options):
        status, out, err = self.compare(scenario, "--json", *options)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_variants_stand_side_by_side_with_the_usual_rows(self):
        tables = self.document(SCENARIO, "--variants", "base,send")["tables"]
        self.assertEqual(len(tables), 1)
        self.assertEqual([c["title"] for c in tables[0]["columns"]], ["x", "send"])
        cells = {(row["group"], row["title"]): [cell["text"] for cell in row["cells"]]
                 for row in tables[0]["rows"]}
        self.assertEqual(cells["A, the initiator", "CPU copies"], ["0", "0"])
        self.assertEqual(cells["B, the target", "bytes copied by the CPU"], ["0 B", "0 B"])
        self.assertEqual(cells["B, the target", "CPU time, data plane"][0], "0 ns")
        self.assertNotEqual(cells["B, the target", "CPU time, data plane"][1], "0 ns")
        self.assertIn(("w0", "latency, median"), cells)
        self.assertIn(("w0", "limited by"), cells)

    def test_a_layout_of_the_file_is_filled_from_its_runs(self):
        document = self.document(dict(SCENARIO, compare=LAYOUT))
        first, second = document["tables"]
        texts = {row["title"]: [cell["text"] for cell in row["cells"]] for row in first["rows"]}
        self.assertEqual(texts["messages"], ["10", "10"])
        self.assertEqual(texts["does B's CPU work"], ["yes", "no, it sleeps"])
        self.assertEqual(texts["bytes to memory, each"], ["4 KiB", "4 KiB"])
        self.assertEqual(texts["operation"], ["send", "write"])
        self.assertEqual([row["group"] for row in first["rows"]], [""] + 4 * ["Who works"])
        self.assertEqual([[cell["value"] for cell in row["cells"]] for row in second["rows"]],
                         [[640, 640], [40960, 40960]])
        self.assertEqual({row["chart"] for row in second["rows"]}, {"lines"})

    def test_the_table_fits_a_terminal_and_has_no_colour_in_a_pipe(self):
        status, out, err = self.compare(dict(SCENARIO, compare=LAYOUT))
        self.assertEqual((status, err), (0, ""))
        self.assertNotIn("\033", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        self.assertRegex(out, r"(?m)^At the target\n +SEND +WRITE$")
        self.assertRegex(out, r"(?m)^Who works\n  does B's CPU work +yes +no, it sleeps$")

    def test_files_and_metrics_can_be_chosen(self):
        other = self.out / "other.json"
        other.write_text(json.dumps(dict(SCENARIO, variants=[])))
        document = self.document(dict(SCENARIO, variants=[]), str(other), "--set",
                                 "workload.0.count=3", "--metric", "workload.w0.messages")
        table, = document["tables"]
        self.assertEqual([c["title"] for c in table["columns"]], ["x", "other"])
        self.assertEqual([(row["metric"], [cell["value"] for cell in row["cells"]])
                          for row in table["rows"]], [("workload.w0.messages", [3, 3])])

    def test_bad_input_is_one_line(self):
        layout = json.loads(json.dumps(LAYOUT))
        layout["tables"][0]["rows"][0]["metric"] = "workload.w0.complete"
        for scenario, options, line in (
                (SCENARIO, ["--variant", "sent"], r'variants: unknown variant "sent", did you mean'),
                (SCENARIO, ["--metric", "nothing.*"], r'--metric: no metric of these runs matches'),
                (SCENARIO, ["--variant", "base"], r'there is one run, and nothing to compare'),
                (SCENARIO, ["--variants", "base,,send"], r'--variants: expected names joined'),
                (dict(SCENARIO, compare=layout), [],
                 r'compare\.tables\.0\.rows\.0\.metric: unknown metric "workload.w0.complete"')):
            status, out, err = self.compare(scenario, *options)
            self.assertEqual((status, out), (2, ""))
            self.assertRegex(err, line)
            self.assertEqual(len(err.splitlines()), 1)

    def test_a_run_that_fails_is_a_column_and_the_exit_status(self):
        broken = json.loads(json.dumps(SCENARIO))
        broken["variants"] = [{"name": "full", "set": {
            "workload.0.size": "1 MiB", "hosts.B.nic.mac_rx.receive_buffer": "8 KiB",
            "hosts.B.nic.port.headroom": "0 B"}}]
        status, out, err = self.compare(broken, "--json")
        self.assertEqual(status, 1)
        self.assertIn("x (full): lossless_drop at ", err)
        table, = json.loads(out)["tables"]
        self.assertNotIn("error", table["columns"][0])
        self.assertRegex(table["columns"][1]["error"], r"^lossless_drop at .* overflows")
        for row in table["rows"]:
            self.assertEqual(row["cells"][1]["text"], "-")

    def test_out_writes_every_document(self):
        status, _, _ = self.compare(SCENARIO, "--out", self.folder.name, "--quiet")
        self.assertEqual(status, 0)
        document = json.loads((self.out / "comparison.json").read_text())
        with open(self.out / "comparison.csv", newline="") as file:
            lines = list(csv.DictReader(file))
        self.assertEqual([line["text"] for line in lines],
                         [cell["text"] for table in document["tables"] for row in table["rows"]
                          for cell in row["cells"]])
        page = (self.out / "comparison.html").read_text()
        self.assertEqual(
            re.findall(r'(?:src|href)=["\']|@import|url\(|fetch\(|XMLHttpRequest', page), [])

    def test_a_browser_draws_tables_and_charts(self):
        page = self.out / "page.html"
        scenario = json.loads(json.dumps(dict(SCENARIO, compare=LAYOUT)))
        scenario["compare"]["tables"][0]["title"] = "</script> of nobody"
        scenario["compare"]["tables"][0]["rows"].append(
            {"group": "CPU", "chart": "stack", "title": "polling",
             "metric": "host.B.cpu.data.polling"})
        self.compare(scenario, "--html", str(page))
        looked = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                                 "--enable-logging=stderr", "--dump-dom",
                                 f"--user-data-dir={self.folder.name}/profile", page.as_uri()],
                                capture_output=True, text=True, timeout=120, check=True)
        self.assertNotRegex(looked.stderr, r"CONSOLE.*(Error|error)")
        dom = looked.stdout
        self.assertIn(' data-charts="2"', re.search(r"<html[^>]*>", dom)[0])
        self.assertEqual(re.findall(r'<canvas[^>]*aria-label="([^"]*)"', dom), ["CPU", "payload"])
        self.assertEqual(len(re.findall("<tbody>", dom)), 2)
        for shown in (">no, it sleeps</td>", ">Who works</th>", ">&lt;/script&gt; of nobody</h2>",
                      ">Two ways to move 4 KiB</h1>"):
            self.assertTrue(shown in dom, shown)


if __name__ == "__main__":
    unittest.main()
