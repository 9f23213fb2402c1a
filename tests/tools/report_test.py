#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures and pages of one run, as a browser and its user see them."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

import browser as headless
from sanitizer_notes import said

RNICSIM = os.environ["RNICSIM"]
TWO_HOSTS = {"hosts": [{"name": "A"}, {"name": "B"}],
             "workload": [{"name": "w0", "from": "A", "to": "B", "size": "4 KiB", "count": 5}],
             "variants": [{"name": "read", "set": {"workload.0.operation": "read"}}]}
SVG = "{http://www.w3.org/2000/svg}"


def rnicsim(*arguments):
    result = subprocess.run([RNICSIM, *map(str, arguments)], capture_output=True, text=True,
                            check=False)
    return result.returncode, said(result.stderr)


class Picture(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name)

    def draw(self, *options):
        file = self.out / "picture.svg"
        self.assertEqual(rnicsim("run", "write_8step", "--variant", "base", "-q", "--svg", file,
                                 *options), (0, ""))
        return file.read_text(encoding="utf-8")

    def test_the_steps_stand_in_order_on_seven_lanes_and_the_target_sleeps(self):
        picture = ElementTree.fromstring(self.draw())
        control, data = [g for g in picture.iter(SVG + "g") if "phase" in g.get("class", "")]
        steps = [[g.get("data-step") for g in phase.iter(SVG + "g") if g.get("class") == "step"]
                 for phase in (control, data)]
        self.assertEqual(steps, [["1", "2", "3"], ["4", "5", "6", "7", "8", "9"]])
        for phase in (control, data):
            lanes = [text.text for text in phase.iter(SVG + "text")
                     if text.get("class") == "lane-name"]
            self.assertEqual(lanes, ["A app", "A CPU", "A NIC", "wire", "B NIC", "B CPU", "B app"])
        asleep = [g.get("data-host") + " " + g.get("data-kind") for g in data.iter(SVG + "g")
                  if "asleep" in g.get("class", "")]
        self.assertEqual(asleep, ["B cpu"])
        begins = {}
        for bar in data.iter(SVG + "g"):
            if bar.get("class") == "bar":
                begins.setdefault(bar.get("data-step"), int(bar.get("data-begin")))
        in_order = sorted(begins, key=begins.get)
        self.assertEqual(in_order, ["4", "5", "6", "7", "8", "9"])

    def test_a_picture_asks_for_nothing_and_runs_nothing(self):
        picture = ElementTree.fromstring(self.draw())
        for element in picture.iter():
            self.assertNotIn(element.tag, (SVG + "script", SVG + "image", SVG + "use"))
            self.assertFalse([name for name in element.keys() if "href" in name])

    def test_labels_are_japanese_if_asked_for(self):
        text = self.draw("--lang", "ja")
        self.assertIn(">データプレーン<", text)
        self.assertIn(">スリープ中", text.replace("z z z   ", ""))
        self.assertNotIn("DATA PLANE", text)

    def test_each_run_of_several_has_its_own_file(self):
        scenario = self.out / "two.json"
        scenario.write_text(json.dumps(TWO_HOSTS))
        self.assertEqual(rnicsim("run", scenario, "-q", "--svg", self.out / "x.svg"), (0, ""))
        self.assertEqual(sorted(file.name for file in self.out.glob("x.*")),
                         ["x.two.read.svg", "x.two.svg"])

    def test_a_file_that_two_runs_would_write_is_refused_before_they_run(self):
        for name, variants in (("a/two.json", ["c"]), ("b/two.json", []), ("two.c.json", [])):
            file = self.out / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(dict(TWO_HOSTS, variants=[
                {"name": variant, "set": {"workload.0.count": 1}} for variant in variants])))
        a, b, c = (self.out / name for name in ("a/two.json", "b/two.json", "two.c.json"))
        x, y = self.out / "x.svg", self.out / "y.html"
        for arguments, place, first, second in (
                ((a, b, "--svg", x), "x.two.svg", f"--svg of {a}", f"--svg of {b}"),
                ((a, c, "--report", y), "y.two.c.html", f"--report of {a} (c)",
                 f"--report of {c}"),
                ((a, a, "--svg", x), "x.two.svg", f"--svg of {a}", f"--svg of {a}"),
                ((b, "--report", x, "--svg", self.out / "a" / ".." / "x.svg"), "a/../x.svg",
                 f"--report of {b}", f"--svg of {b}")):
            self.assertEqual(rnicsim("run", "-q", *arguments), (
                2, f"{self.out}/{place}: {first} and {second} would both write it\n"))
        self.assertEqual(list(self.out.glob("*.svg")) + list(self.out.glob("*.html")), [])

    def test_bad_options_are_one_line(self):
        self.assertEqual(rnicsim("run", "write_8step", "--svg", "x.svg", "--lang", "de")[0], 2)
        status, line = rnicsim("run", "write_8step", "--lang", "ja")
        self.assertEqual(status, 2)
        self.assertIn("--lang goes with --svg and --report", line)
        self.assertEqual(rnicsim("run", "write_8step", "--svg", RNICSIM + "/x.svg")[0], 2)


class Page(headless.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.out / "page.html"
        cls.report(cls.page)

    @classmethod
    def report(cls, page, *options, scenario="write_8step"):
        made = rnicsim("run", scenario, "--variant", "base", "-q", "--report", page, *options)
        assert made == (0, ""), made

    def several(self, *options):
        """A page of five messages."""
        page = self.out / "several.html"
        scenario = self.out / "several.json"
        scenario.write_text(json.dumps(dict(TWO_HOSTS, timeline={"work_requests": 5})))
        self.report(page, *options, scenario=scenario)
        return page

    def time_axis(self):
        phase = self.find(".phase.data")
        return [int(phase.get_attribute("data-" + end)) for end in ("from", "to")]

    def test_the_eight_steps_are_there_in_order(self):
        self.look(self.page)
        self.assertEqual([step.get_attribute("data-step") for step in self.all(".swim .step")],
                         list("123456789"))
        self.assertEqual(len(self.all(".phase.data .lane.asleep[data-host='B']")), 1)
        self.assertEqual(len(self.all(".phase.control .lane.asleep")), 0)

    def test_zoom_stretches_the_bars_of_its_phase_and_whole_brings_them_back(self):
        self.look(self.page)
        phase = self.find(".phase.data")
        begin, end = (int(phase.get_attribute("data-" + name)) for name in ("begin", "end"))
        rect = self.find(".phase.data .bar[data-part='rkey check'] rect")
        other = self.find(".phase.control .bar[data-part='pin'] rect")
        whole = float(rect.get_attribute("width"))
        still = other.get_attribute("width")
        larger, _, back = self.all("#steps .zooms > div")[1].find_elements(By.TAG_NAME, "button")
        larger.click()
        first, last = self.time_axis()
        self.assertAlmostEqual(last - first, (end - begin) / 2, delta=1)
        self.assertAlmostEqual(first + last, begin + end, delta=2)
        self.assertAlmostEqual(float(rect.get_attribute("width")) / whole, 2, delta=0.1)
        self.assertEqual(other.get_attribute("width"), still)
        back.click()
        self.assertEqual(self.time_axis(), [begin, end])
        self.assertAlmostEqual(float(rect.get_attribute("width")), whole, delta=1)

    def test_dragging_moves_along_the_time_axis(self):
        self.look(self.page)
        self.all("#steps .zooms > div")[1].find_element(By.TAG_NAME, "button").click()
        first, last = self.time_axis()
        lane = self.find(".phase.data .lane[data-kind='app'] rect")
        ActionChains(self.browser).move_to_element(lane).click_and_hold().move_by_offset(
            -100, 0).release().perform()
        moved = self.time_axis()
        self.assertGreater(moved[0], first)
        self.assertAlmostEqual(moved[1] - moved[0], last - first, delta=1)

    def test_a_bar_tells_its_details(self):
        self.look(self.page)
        tooltip = self.find("#tooltip")
        self.assertFalse(tooltip.is_displayed())
        bar = self.find(".bar[data-part='DMA write'] rect")
        ActionChains(self.browser).move_to_element(bar).perform()
        self.assertTrue(tooltip.is_displayed())
        begin, end = (int(self.find(".bar[data-part='DMA write']").get_attribute("data-" + name))
                      for name in ("begin", "end"))
        self.assertEqual(self.find("#tooltip b").text,
                         "writes into the application's memory (responder)")
        self.assertIn(f"{begin / 1e6:.3f} – {end / 1e6:.3f} µs", tooltip.text)
        ActionChains(self.browser).move_to_element(self.find("#title")).perform()
        self.assertFalse(tooltip.is_displayed())

    def test_the_stages_of_a_message_add_up(self):
        self.look(self.page)
        self.assertEqual(len(self.all("#time canvas")), 1)  # it is one message
        rows = self.all("#time > .two tbody tr")
        names = [row.find_element(By.TAG_NAME, "td").text for row in rows]
        self.assertEqual(names, [
            "posting", "doorbell", "WQE fetch", "waits for its turn", "translation miss",
            "DMA read", "NIC sends", "serialisation", "cables", "NIC receives",
            "key check, translation", "DMA write", "ACK", "CQE", "until the program has it",
            "the whole message"])
        times = [int(row.find_element(By.CSS_SELECTOR, "td[title]").get_attribute("title")
                     .removesuffix(" ps")) for row in rows]
        self.assertEqual(sum(times[:-1]), times[-1])
        shares = [float(row.find_elements(By.TAG_NAME, "td")[-1].text.removesuffix(" %"))
                  for row in rows]
        self.assertAlmostEqual(sum(shares[:-1]), 100, delta=0.05 * len(rows))
        self.assertEqual(shares[-1], 100)

    def test_bars_of_both_charts_tell_their_time_and_share(self):
        self.look(self.page)
        rows = self.all("#time > .two tbody tr")
        fetch = rows[2].find_elements(By.TAG_NAME, "td")
        self.assertEqual(self.tooltip_of(self.find("#time > .two canvas"), 0, 2),
                         ["WQE fetch", f"{fetch[1].text}, {fetch[2].text}"])
        self.assertFalse(self.find("#many").is_displayed())  # it is one message
        self.look(self.several())
        rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
                for row in self.all("#many tbody tr")]
        nth = [row[0] for row in rows].index("DMA read")
        self.assertRegex(self.tooltip_of(self.find("#many canvas"), nth, 3)[1],
                         r"^DMA read: " + re.escape(rows[nth][6]) + r", [0-9.]+ %$")

    def test_a_drag_over_the_waterfall_zooms_and_a_double_click_shows_all_of_it(self):
        self.look(self.page)
        canvas = self.find("#time canvas")
        whole = self.x_range(canvas)
        self.assertEqual(whole[0], 0)
        self.drag(canvas, 0.25, 0.5)
        self.assertEqual(self.all("#time .range"), [])
        part = self.x_range(canvas)
        self.assertAlmostEqual(part[0] / whole[1], 0.25, delta=0.01)
        self.assertAlmostEqual(part[1] / whole[1], 0.5, delta=0.01)
        self.find("#theme").click()  # which draws everything again
        self.assertEqual(self.x_range(canvas), part)
        self.double_click(canvas)
        self.assertEqual(self.x_range(canvas), whole)

    def test_counters_and_configuration_can_be_searched(self):
        self.look(self.page)
        self.find("#counters input[type=search]").send_keys("HOST.B.cpu data.busy")
        row, = self.all("#counters tbody tr")
        self.assertEqual([cell.text for cell in row.find_elements(By.TAG_NAME, "td")][:2],
                         ["host.B.cpu.data.busy", "0 ns"])
        self.find("#configuration input").send_keys("hosts.0.memory.read_latency")
        row, = self.all("#configuration tbody tr")
        self.assertIn("host/xeon_2015: ", row.text)

    def test_of_several_messages_one_is_chosen_and_percentiles_are_over_all(self):
        self.look(self.several())
        self.assertEqual(len(self.all(".phase.data")), 5)
        choice = Select(self.find("#which"))
        self.assertEqual(len(choice.options), 5)
        choice.select_by_index(4)
        heads = [head.text for head in self.all("#many thead th")]
        self.assertEqual(heads,
                         ["stage", "messages", "mean", "50 %", "90 %", "99 %", "max", "share"])
        self.assertEqual(self.find("#many tbody tr td:nth-child(2)").text, "5")
        self.assertEqual(self.all("#of-workload"), [])

    def test_each_of_several_workloads_has_its_percentiles(self):
        page = self.out / "workloads.html"
        scenario = self.out / "workloads.json"
        reads = dict(TWO_HOSTS["workload"][0], name="reads", operation="read", count=3)
        both = dict(TWO_HOSTS, workload=[TWO_HOSTS["workload"][0], reads], variants=[])
        scenario.write_text(json.dumps(both))
        self.report(page, scenario=scenario)
        self.look(page)
        choice = Select(self.find("#of-workload"))
        self.assertEqual([option.text for option in choice.options], ["w0", "reads"])
        self.assertIn("ACK", self.find("#many tbody").text)
        choice.select_by_visible_text("reads")
        self.assertNotIn("ACK", self.find("#many tbody").text)
        self.assertEqual(self.find("#many tr.whole td:nth-child(2)").text, "3")
        self.assertTrue(self.find("#many .help:not([data-word])").text.startswith("3 "))
        self.assertEqual(len(self.all("#many canvas")), 1)

    def test_the_page_is_japanese_if_asked_for(self):
        page = self.out / "ja.html"
        self.report(page, "--lang", "ja")
        self.look(page)
        self.assertEqual(self.find("html").get_attribute("lang"), "ja")
        self.assertEqual(self.find("#steps h2").text, "八つのステップ")
        self.assertEqual(self.find(".phase.data .plane").text, "データプレーン")
        self.look(self.several("--lang", "ja"))
        self.assertEqual(self.find("#many h3").text, "多数のメッセージでの分布")
        self.assertIn("DMA 読み出し", self.find("#many tbody").text)

    def test_a_title_is_text_whatever_is_in_it(self):
        page = self.out / "title.html"
        title = "</script><script>boom()</script> & PAGE_STYLE"
        self.report(page, "--set", "title=" + title)
        self.look(page)
        self.assertEqual(self.find("#title").text, title)
        self.assertEqual(self.find(".swim .title").text, title)


if __name__ == "__main__":
    unittest.main()
