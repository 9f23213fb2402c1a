#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rnicsim validate from the outside: ablations decide the exit status, the page shows everything.

A browser looks at the page (chromium)."""
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
BROWSER = "chromium"

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

    def test_a_browser_draws_curves_rows_and_ablations(self):
        self.validate(SCENARIO)
        page = (self.out / "validation.html").as_uri()
        dom = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                              f"--user-data-dir={self.folder.name}/profile", "--dump-dom", page],
                             capture_output=True, text=True, timeout=120, check=True).stdout
        self.assertIn('aria-label="latency of WRITE"', dom)
        self.assertEqual(dom.count('<circle class="dot" r="2.5"'), 2)
        self.assertIn("missing here: a faster world", dom)
        self.assertIn("&lt;/script&gt; of nobody", dom)
        self.assertIn("fails, as it must", dom)
        self.assertNotIn('aria-label="a point alone"', dom)
        self.assertIn("4 of 4", dom)

    def test_the_page_needs_nothing_from_elsewhere(self):
        self.validate(SCENARIO)
        page = (self.out / "validation.html").read_text()
        self.assertNotRegex(page, r'(src|href)="|@import|url\(')


if __name__ == "__main__":
    unittest.main()
