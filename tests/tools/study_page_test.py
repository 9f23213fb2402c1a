#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of a study, as a browser and its user see it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from selenium.webdriver.common.by import By

import browser as headless
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
BASE = {"hosts": [{"name": "A"}, {"name": "B"}],
        "workload": [{"name": "w0", "from": "A", "to": "B", "size": "4 KiB", "count": 20}]}
SIZES = ["4 KiB", "1 KiB", "256 B", "64 B"]  # descending: the page turns them round
STUDY = {
    "title": "Sizes and queues",
    "base": "base.json",
    "axes": [{"path": "workload.w0.size", "values": SIZES},
             {"path": "workload.w0.queue_depth", "values": [1, 4, 16]},
             {"path": "hosts.A.verbs.blue_flame", "values": [False, True]}],
    "metrics": [{"name": "goodput", "metric": "workload.w0.goodput", "better": "more"},
                {"name": "latency", "metric": "workload.w0.latency.p50", "better": "less"},
                {"name": "copies", "metric": "workload.w0.copies_nowhere", "better": "less"},
                {"name": "busy", "metric": "host.A.cpu.data.*.cycles", "better": "none"}],
    "cost": {"name": "slots", "expression": "workload.w0.queue_depth"},
}


class Page(headless.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.out / "base.json").write_text(json.dumps(BASE))
        (cls.out / "study.json").write_text(json.dumps(STUDY))
        made = subprocess.run([RNICSIM, "sweep", str(cls.out / "study.json"), "-q", "--out",
                               str(cls.out)], capture_output=True, text=True, check=False)
        assert made.returncode == 0, said(made.stderr)
        cls.page = cls.out / "report.html"
        cls.document = json.loads((cls.out / "results.json").read_text())

    def setUp(self):
        self.look(self.page)

    def canvas(self, name):
        return self.find(f"canvas[aria-label='{name}']")

    def test_the_sentences_stand_on_top_of_their_charts(self):
        sections = self.all("#study > section")
        self.assertEqual([section.find_element(By.TAG_NAME, "h2").text for section in sections],
                         ["goodput", "latency", "copies", "busy", "All points"])
        for section, verdict in zip(sections, self.document["verdict"]):
            told = section.find_element(By.CSS_SELECTOR, ".verdict")
            self.assertEqual([line.text for line in told.find_elements(By.TAG_NAME, "li")],
                             verdict["sentences"])
            for plot in section.find_elements(By.CSS_SELECTOR, ".plot"):
                self.assertGreater(plot.location["y"], told.location["y"])
        self.assertIn("goodput still improves at the end of size",
                      self.document["verdict"][0]["sentences"][0])
        # A metric of no point counts as 0: it is warned of before everything.
        warning, = self.all(".warnings li")
        self.assertRegex(warning.text, "^copies: no point has the metric .*, which counts as 0")
        self.assertLess(warning.location["y"], sections[0].location["y"])

    def test_every_metric_has_its_charts(self):
        drawn = [canvas.get_attribute("aria-label") for canvas in self.all("canvas")]
        expected = []
        for metric in STUDY["metrics"]:
            name = metric["name"]
            expected += [f"{name} over {axis}" for axis in ("size", "queue_depth", "blue_flame")]
            if metric["better"] != "none":
                expected.append(f"{name} against slots")
            expected.append(f"What {name} depends on")
        self.assertEqual(drawn, expected)
        self.assertEqual(len(self.all(".heat")), 4)
        for canvas in self.all("canvas"):
            size = canvas.size
            self.assertGreater(min(size["width"], size["height"]), 50)
        pareto = self.canvas("goodput against slots")
        front = self.chart(pareto, "chart.data.datasets[0].data.map(point => point.x)")
        goodput = self.document["verdict"][0]
        self.assertEqual(front, [goodput["offers"][o]["cost"] for o in goodput["pareto"]])
        self.assertEqual([goodput["dimensions"][d]["name"] for d in goodput["paid"]],
                         ["queue_depth"])

    def test_an_axis_that_descends_in_the_file_is_drawn_from_the_least_on(self):
        canvas = self.canvas("goodput over size")
        self.assertEqual(self.chart(canvas, "chart.data.labels"), SIZES[::-1])

    def test_the_knee_is_on_the_mean_and_on_no_other_curve(self):
        depth = self.document["verdict"][0]["dimensions"][1]
        self.assertEqual(depth["knee"], 1)
        canvas = self.canvas("goodput over queue_depth")
        curves = self.chart(canvas, "chart.data.datasets.map(d => [d.label, d.pointRadius])")
        large = {label: [i for i, radius in enumerate(radii) if radius > 3]
                 for label, radii in curves}
        self.assertEqual(large.pop("mean"), [depth["knee"]])
        self.assertEqual(set(map(tuple, large.values())), {()})

    def test_the_heat_map_shows_the_means_of_the_two_axes_that_matter_most(self):
        verdict = self.document["verdict"][0]
        rows, columns = sorted((verdict["dimensions"][d] for d in verdict["ranking"][:2]),
                               key=lambda dimension: -len(dimension["order"]))
        table = self.all(".heat table")[0]
        heads = [head.text for head in table.find_elements(By.CSS_SELECTOR, "thead th")]
        self.assertEqual(heads[1:], [columns["labels"][c] for c in columns["order"]])
        sides = [side.text for side in table.find_elements(By.CSS_SELECTOR, "tbody th")]
        self.assertEqual(sides, [rows["labels"][r] for r in rows["order"]])
        self.assertEqual(len(table.find_elements(By.CSS_SELECTOR, "td")), len(heads[1:]) * 4)

    def test_each_step_has_its_gain_and_that_of_a_doubling(self):
        size = self.document["verdict"][0]["dimensions"][0]
        heads = [head.text for head in self.all(".steps")[0].find_elements(By.TAG_NAME, "th")]
        self.assertEqual(heads, ["", "step", "gain", "least", "most", "per doubling"])
        first = self.all(".steps tbody tr")[0]
        cells = [cell.text for cell in first.find_elements(By.TAG_NAME, "td")]
        self.assertEqual(cells[:2], ["size", "64 B → 256 B"])
        for text, name in zip(cells[2:], ("gain", "least", "most", "per_doubling"), strict=True):
            self.assertEqual(float(text.strip("+ %")), float(f"{100 * size['steps'][0][name]:.3g}"))
        self.assertEqual(first.get_attribute("class"), "worth")

    def test_a_point_tells_its_value(self):
        canvas = self.canvas("goodput over size")
        self.assertEqual(self.chart(canvas, "chart.tooltip.opacity"), 0)
        title, line = self.tooltip_of(canvas, 0, 3)
        self.assertEqual(title, "4 KiB")
        self.assertRegex(line, r"^queue_depth 1: [\d.]+ Gb/s$")
        verdict = self.document["verdict"][0]
        depth = verdict["offers"][verdict["pareto"][0]]["at"][0]
        told, = self.tooltip_of(self.canvas("goodput against slots"), 0, 0)
        self.assertTrue(told.startswith(
            f"queue_depth {verdict['dimensions'][1]['labels'][depth]}: "), told)

    def test_a_drag_zooms_and_a_double_click_comes_back(self):
        canvas = self.canvas("goodput over size")
        self.assertEqual(self.x_range(canvas), [0, 3])
        self.drag(canvas, 0.3, 1)
        self.assertEqual(self.x_range(canvas), [1, 3])
        self.double_click(canvas)
        self.assertEqual(self.x_range(canvas), [0, 3])
        canvas = self.canvas("goodput against slots")
        before = self.x_range(canvas)
        self.drag(canvas, 0.25, 0.75)
        after = self.x_range(canvas)
        self.assertGreater(after[0], before[0])
        self.assertLess(after[1], before[1])

    def test_dark_draws_the_charts_anew(self):
        ground = self.browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor")
        self.find("#theme").click()
        self.assertNotEqual(self.browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor"), ground)
        self.assertEqual(self.chart(self.canvas("goodput over size"), "chart.data.labels"),
                         SIZES[::-1])

    def test_a_hundred_thousand_points_are_drawn(self):
        text = self.page.read_text(encoding="utf-8")
        place = re.search(r'<script type="application/json" id="document">(.*?)</script>', text,
                          re.DOTALL)
        many = json.loads(place[1])
        many["verdict"] = many["verdict"][:1]
        many["verdict"][0]["cells"] *= 5000
        many["points"] *= 5000
        large = self.out / "large.html"
        large.write_text(text[:place.start(1)] + json.dumps(many) + text[place.end(1):],
                         encoding="utf-8")
        self.look(large)
        self.assertEqual(len(self.all("canvas")), 5)
        self.assertEqual(self.all("section h2")[-1].text,
                         "The first 2000 points of 120000; results.csv has all")


if __name__ == "__main__":
    unittest.main()
