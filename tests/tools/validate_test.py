#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rnicsim validate from the outside: ablations decide the exit status, the page shows everything."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser as headless
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]

SCENARIO = {
    "hosts": [{"name": "A"}, {"name": "B"}],
    "workload": [{"name": "w0", "from": "A", "to": "B", "size": "64 B"}],
    "variants": [{"name": "large", "set": {"workload.0.size": "4 KiB"}}],
    "expect": [
        {"id": "X1", "metric": "workload.w0.latency.p50", "between": ["1 us", "10 us"],
         "source": "</script> of nobody", "curve": "latency of WRITE", "at": "64 B"},
        {"id": "X2", "metric": "large:workload.w0.latency.p50", "equals": "1 us",
         "tolerance": "1 %", "missed": "a faster world", "curve": "latency of WRITE",
         "at": "4 KiB"},
        {"id": "X4", "metric": "large:workload.w0.latency.p99", "between": ["1 us", "10 us"],
         "curve": "a point alone", "at": "4 KiB"},
        {"id": "X3 (recalled)", "metric": "workload.w0.completed", "equals": 2,
         "missed": "another message"}],
    "ablate": [{"name": "far", "title": "hosts far apart",
                "set": {"fabric.link.delay": "20 us", "hosts.*.nic.mac_rx.receive_buffer": "8 MiB"},
                "fails": ["X1"]}],
}


class Validate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name)

    def validate(self, scenario):
        file = self.out / "x.json"
        file.write_text(json.dumps(scenario))
        result = subprocess.run([RNICSIM, "validate", str(file), "--out", self.folder.name],
                                capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, said(result.stderr)

    def test_an_ablation_that_breaks_its_row_proves_it(self):
        status, out, err = self.validate(SCENARIO)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"(?m)^far +X1 +1 us to 10 us +[\d.]+ us +fails, as it must +hosts far")
        self.assertRegex(out, r"(?m)^measured: 2 of 3 \(66\.7 %\) within tolerance; mean absolute")
        ledger = json.loads((self.out / "validation.json").read_text())
        self.assertEqual([row["verdict"] for row in ledger["rows"]],
                         ["pass", "missed", "missed", "pass"])
        self.assertEqual(len((self.out / "validation.csv").read_text().splitlines()), 5)

    def test_a_mechanism_that_is_not_needed_fails(self):
        harmless = json.loads(json.dumps(SCENARIO))
        harmless["ablate"][0]["set"] = {"seed": 2}
        status, out, _ = self.validate(harmless)
        self.assertEqual(status, 1)
        self.assertIn("FAIL: not necessary", out)

    def test_a_run_without_a_proper_end_has_rows(self):
        # The receive buffer has no room for what comes while the pause is on its way.
        broken = json.loads(json.dumps(SCENARIO))
        del broken["ablate"]
        broken["workload"][0].update({"size": "1 MiB", "count": 10})
        broken["expect"] = [
            {"id": "Y1", "metric": "workload.w0.completed", "equals": 10},
            {"id": "Y2", "metric": "large:workload.w0.completed", "equals": 10}]
        broken["variants"] = [{"name": "large", "set": {
            "hosts.B.nic.mac_rx.receive_buffer": "8 KiB",
            "hosts.B.nic.port.headroom": "0 B"}}]
        status, out, err = self.validate(broken)
        self.assertEqual(status, 1)
        self.assertRegex(out, r"(?m)^Y1 .* pass$")
        self.assertRegex(out, r"(?m)^Y2 .* FAIL: not judged +not judged: lossless_drop at ")
        self.assertIn("x (large): lossless_drop at ", err)
        rows = json.loads((self.out / "validation.json").read_text())["rows"]
        self.assertIn("overflows", rows[1]["not_judged"])


class Page(headless.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.out / "x.json").write_text(json.dumps(SCENARIO))
        made = subprocess.run([RNICSIM, "validate", cls.out / "x.json", "--out", cls.out],
                              capture_output=True, check=False)
        assert made.returncode == 0, made
        cls.ledger = json.loads((cls.out / "validation.json").read_text())

    def setUp(self):
        self.look(self.out / "validation.html")

    def columns(self, selector):
        return [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
                for row in self.all(selector + " tbody tr")]

    def test_rows_are_those_of_the_document(self):
        shown = self.columns("#rows")
        self.assertEqual(len(shown), 4)
        for cells, row in zip(shown, self.ledger["rows"]):
            self.assertEqual(cells[0].split(" ")[0], row["id"].split(" ")[0])
            self.assertEqual([cells[i] for i in (1, 2, 5, 6)], [
                row[name] for name in ("scenario", "published_text", "tolerance", "verdict")])
            self.assertIn(row["source"], cells[7])
        self.assertEqual(shown[0][7], "</script> of nobody")
        self.assertEqual(shown[2][7], "missing here: a faster world")

    def test_totals_are_those_of_the_document(self):
        error = 100 * self.ledger["mean_absolute_relative_error"]
        self.assertEqual(self.texts(".tile b"), ["66.7 %", f"{error:.1f} %", "2", "0", "1 / 1"])

    def test_an_ablation_has_its_rows(self):
        cells, = self.columns("#ablations")
        row = self.ledger["ablations"][0]["rows"][0]
        self.assertEqual(cells[:4], ["far", "hosts far apart", "X1", row["published_text"]])
        self.assertEqual(cells[5], "fails, as it must")

    def test_a_search_and_a_verdict_choose_rows_and_a_head_sorts_them(self):
        self.find("#filter").send_keys("FASTER")
        self.assertEqual(self.texts("#rows td.id"), ["X2"])
        self.assertEqual(self.find("#shown").text, "1 of 4")
        self.find("#filter").send_keys(Keys.CONTROL, "a", Keys.DELETE)
        passed, missed = self.all("#verdicts button")
        passed.click()
        self.assertEqual(self.texts("#rows td.id"), ["X1", "X4"])
        missed.click()
        self.assertEqual(len(self.all("#rows td.id")), 2)
        missed.click()
        head = self.find("#rows th button")
        head.click()
        head.click()
        self.assertEqual([text.split(" ")[0] for text in self.texts("#rows td.id")],
                         ["X4", "X3", "X2", "X1"])

    def test_a_curve_zooms_and_a_point_tells_its_row(self):
        canvas, = self.all("#plots canvas")  # a point alone is in the table
        self.assertEqual(canvas.get_attribute("aria-label"), "latency of WRITE")
        points = self.chart(canvas, "chart.data.datasets[0].data.map(p => [p.x, p.y * 1e6])")
        rows = [row for row in self.ledger["rows"] if row.get("curve") == "latency of WRITE"]
        self.assertEqual([x for x, _ in points], [64, 4096])
        for (_, y), row in zip(points, rows):
            self.assertAlmostEqual(y, row["simulated"], delta=1)
        title, *lines = self.tooltip_of(canvas, 0, 1)
        self.assertEqual(title, "X2 at 4 KiB")
        self.assertEqual(lines[0], "published 1 us")
        self.assertRegex(lines[1], r"^simulated [\d.]+ µs \(\+[\d.]+ %\)$")
        self.assertEqual(lines[2:], [rows[1]["verdict"], "missing here: a faster world"])
        whole = self.x_range(canvas)
        self.drag(canvas, 0.5, 1)
        begin, end = self.x_range(canvas)
        self.assertAlmostEqual(begin / (whole[0] * whole[1]) ** 0.5, 1, delta=0.05)
        self.assertAlmostEqual(end / whole[1], 1, delta=0.01)
        self.assertEqual(self.chart(canvas, "chart.scales.x.ticks.map(tick => tick.label)"),
                         ["4 KiB"])
        self.double_click(canvas)
        self.assertEqual(self.x_range(canvas), whole)


if __name__ == "__main__":
    unittest.main()
