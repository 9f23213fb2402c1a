#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The charts over time of `rnicsim run --report`, as a browser shows them."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import browser as headless
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
DOCUMENT = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.S)


class OverTime(headless.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.out / "incast.html"
        done = subprocess.run([RNICSIM, "run", "incast", "--variant", "base", "--json", "--report",
                               cls.page], capture_output=True, text=True, check=False)
        assert (done.returncode, said(done.stderr)) == (0, ""), done.stderr
        cls.run_document = json.loads(done.stdout)["runs"][0]

    def canvas(self, name):
        return self.find(f"#over-time canvas[aria-label='{name}']")

    def labels(self, canvas):
        return self.chart(canvas, "chart.data.datasets.map(set => set.label)")

    def test_throughput_utilisation_queues_and_pauses_are_there(self):
        self.look(self.page)
        self.assertEqual([canvas.get_attribute("aria-label")
                          for canvas in self.all("#over-time canvas")],
                         ["Throughput of ports", "PCIe and memory bus",
                          "Utilisation, share of pauses", "Buffers and queues",
                          "Queues, requests under way", "Rates", "Pauses"])
        throughput = self.canvas("Throughput of ports")
        self.assertLessEqual(len(self.labels(throughput)), 6)
        peak = self.chart(throughput, "Math.max(...chart.data.datasets[0].data.map(p => p.y))")
        self.assertGreater(peak, 90)
        self.assertLess(peak, 130)
        queues = self.canvas("Buffers and queues")
        self.assertEqual(self.labels(queues)[0], "fabric.switch0.buffer.occupancy")
        peak = self.chart(queues, "Math.max(...chart.data.datasets[0].data.map(p => p.y))")
        most = self.run_document["metrics"]["fabric.switch0.buffer.occupancy.max"]["value"]
        self.assertLessEqual(peak * (1 << 20), most * 1.001)
        self.assertGreater(peak * (1 << 20), most * 0.97)

    def test_pauses_are_intervals_whose_tooltip_tells_when(self):
        self.look(self.page)
        pauses = self.canvas("Pauses")
        self.assertEqual(len(self.labels(pauses)), 8)
        self.assertIn("host.h1.nic0 prio 3", self.labels(pauses))
        ticks = self.chart(pauses, "chart.scales.y.ticks.map(tick => tick.label)")
        self.assertEqual(ticks, self.labels(pauses))
        title, interval, whole = self.tooltip_of(pauses, 0, 0)
        self.assertEqual(title, self.labels(pauses)[0])
        self.assertRegex(interval, r"^[0-9.]+ [µm]s – [0-9.]+ [µm]s$")
        self.assertRegex(whole, r"^Σ [0-9.]+ ms$")

    def test_a_drag_zooms_in_time_and_a_tooltip_tells_a_value(self):
        self.look(self.page)
        queues = self.canvas("Buffers and queues")
        whole = self.x_range(queues)
        self.assertEqual(whole[0], 0)
        self.assertAlmostEqual(whole[1] * 1e9, self.run_document["end_ps"], delta=1)
        self.drag(queues, 0.25, 0.5)
        part = self.x_range(queues)
        self.assertAlmostEqual(part[0] / whole[1], 0.25, delta=0.01)
        self.assertAlmostEqual(part[1] / whole[1], 0.5, delta=0.01)
        self.double_click(queues)
        self.assertEqual(self.x_range(queues), whole)
        lines = self.tooltip_of(queues, 0, 120)
        self.assertRegex(lines[0], r"^[0-9.]+ ms$")
        self.assertRegex(lines[1], r"^fabric\.switch0\.buffer\.occupancy: [0-9.]+ MiB$")
        self.assertEqual(self.chart(queues, "chart.tooltip.body[0].after"),
                         ["bytes held, in whole cells"])

    def test_of_many_pauses_a_tooltip_tells_how_many_were_put_together(self):
        text = self.page.read_text(encoding="utf-8")
        document = json.loads(DOCUMENT.search(text)[1])
        pauses = document["over_time"]["pauses"]
        pauses["left_out"] = 12
        end = document["end_ps"]
        pauses["ports"] = [{"where": "host.h1.nic0 prio 3", "whole_ps": 5000000,
                            "intervals": [[0, end, 700]]}]
        document["over_time"]["groups"][0]["left_out"] = 30
        changed = self.out / "many.html"
        changed.write_text(text.replace(DOCUMENT.search(text)[1], json.dumps(document)),
                           encoding="utf-8")
        self.look(changed)
        chart = self.canvas("Pauses")
        _, interval, whole = self.tooltip_of(chart, 0, 0)
        self.assertRegex(interval, r"^700 pauses between 0 ps and [0-9.]+ ms$")
        self.assertEqual(whole, "Σ 5 µs")
        self.assertIn("1 / 13 shown; 12 more only in --csv",
                      self.find("#over-time figure:last-child figcaption").text)
        self.assertRegex(self.find("#over-time .filters span").text,
                         r"^\d+ / \d+ shown; 30 more only in --csv$")

    def test_the_search_chooses_signals(self):
        self.look(self.page)
        self.assertRegex(self.find("#over-time .filters span").text, r"^\d+ / \d+ shown$")
        search = self.find("#over-time input")
        search.send_keys("H3 port tx")
        search.send_keys("\n")
        self.assertEqual([self.labels(canvas) for canvas in self.all("#over-time canvas")],
                         [["host.h3.nic0.port.tx_bytes"], ["host.h3.nic0.port.tx_bytes"],
                          ["host.h3.nic0.port.tx_queued"]])
        self.find("#theme").click()  # which draws every chart that is still there
        search.clear()
        search.send_keys("no such signal\n")
        self.assertEqual(self.all("#over-time canvas"), [])


if __name__ == "__main__":
    unittest.main()
