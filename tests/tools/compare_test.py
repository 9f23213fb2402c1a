#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rnicsim compare from the outside: tables, documents, the page, and what it refuses."""
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
from selenium.webdriver.common.by import By

import browser as headless
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]

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


class Page(headless.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scenario = json.loads(json.dumps(dict(SCENARIO, compare=LAYOUT)))
        scenario["compare"]["tables"][0]["title"] = "</script> of nobody"
        scenario["compare"]["tables"][0]["rows"].append(
            {"group": "CPU", "chart": "stack", "title": "polling",
             "metric": "host.B.cpu.data.polling"})
        (cls.out / "x.json").write_text(json.dumps(scenario))
        made = subprocess.run([RNICSIM, "compare", cls.out / "x.json", "--out", cls.out, "-q"],
                              capture_output=True, check=False)
        assert made.returncode == 0, made
        cls.tables = json.loads((cls.out / "comparison.json").read_text())["tables"]

    def setUp(self):
        self.look(self.out / "comparison.html")

    def test_tables_are_those_of_the_document(self):
        self.assertEqual(self.find("#title").text, "Two ways to move 4 KiB")
        self.assertEqual(self.texts("h2"), ["</script> of nobody", "By size"])
        for shown, table in zip(self.all("section table"), self.tables):
            heads = [head.text.split("\n")[0] for head in
                     shown.find_elements(By.CSS_SELECTOR, "thead th")]
            self.assertEqual(heads, [""] + [column["title"] for column in table["columns"]])
            groups = [row["group"] for row in table["rows"]]
            self.assertEqual(
                [head.text for head in shown.find_elements(By.CSS_SELECTOR, "tr.group")],
                list(dict.fromkeys(group for group in groups if group)))
            lines = [line for line in shown.find_elements(By.CSS_SELECTOR, "tbody tr")
                     if line.find_elements(By.TAG_NAME, "td")]
            self.assertEqual(len(lines), len(table["rows"]))
            for line, row in zip(lines, table["rows"]):
                self.assertEqual(line.find_element(By.TAG_NAME, "th").text.removesuffix(" ▸"),
                                 row["title"])
                self.assertEqual([cell.text.split("\n")[0]
                                  for cell in line.find_elements(By.TAG_NAME, "td")],
                                 [cell["text"] for cell in row["cells"]])

    def test_groups_have_their_charts_and_a_click_on_a_row_draws_it(self):
        def names():
            return [c.get_attribute("aria-label") for c in self.all("canvas")]
        self.assertEqual(names(), ["CPU", "payload"])
        row, = [b for b in self.all("th button") if b.text.startswith("messages")]
        row.click()
        self.assertEqual(names(), ["CPU", "messages", "payload"])
        title, line = self.tooltip_of(self.find("canvas[aria-label='messages']"), 0, 0)
        self.assertEqual([title, line], ["SEND", "10"])
        row.click()
        self.assertEqual(names(), ["CPU", "payload"])

    def test_a_bar_tells_its_value(self):
        row = self.tables[0]["rows"][-1]
        title, line = self.tooltip_of(self.find("canvas[aria-label='CPU']"), 0, 1)
        self.assertEqual([title, line], ["WRITE", "polling: " + row["cells"][1]["text"]])

    def test_a_drag_zooms_and_a_double_click_shows_all_of_it(self):
        bars, lines = self.all("canvas")
        whole = self.x_range(bars)
        self.drag(bars, 0.5, 0.75)
        begin, end = self.x_range(bars)
        self.assertAlmostEqual(begin / whole[1], 0.5, delta=0.01)
        self.assertAlmostEqual(end / whole[1], 0.75, delta=0.01)
        self.double_click(bars)
        self.assertEqual(self.x_range(bars), whole)
        self.drag(lines, 0.6, 1)
        self.assertEqual(self.chart(lines, "chart.scales.x.ticks.map(tick => tick.label)"),
                         ["4 KiB"])
        self.double_click(lines)
        self.assertEqual(self.chart(lines, "chart.scales.x.ticks.map(tick => tick.label)"),
                         ["64 B", "4 KiB"])

    def test_a_click_and_a_drag_of_nothing_leave_a_chart_as_it_is(self):
        bars = self.find("canvas")
        whole = self.x_range(bars)
        bars.click()
        self.assertEqual(self.x_range(bars), whole)
        self.assertEqual(self.all(".range"), [])


if __name__ == "__main__":
    unittest.main()
