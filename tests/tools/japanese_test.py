#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages in Japanese: nothing that the simulator says is left in English."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from selenium.webdriver.common.action_chains import ActionChains

import browser as headless

RNICSIM = os.environ["RNICSIM"]
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
# Three words of small letters behind each other are a sentence; names of things are shorter.
ENGLISH = re.compile(r"\b[a-z]{2,}(?:['’]s)? [a-z]{2,} [a-z]{2,}\b")
STEPS = ["アプリ起動", "メモリ登録", "アドレスと rkey の通知", "WQE とドアベル", "ペイロード DMA",
         "パケット", "鍵検査とアドレス変換", "メモリへ DMA", "完了"]
# Between them they have every metric that there is.
SCENARIOS = ["tcp_beside_rdma", "pcie_switch", "flooding_deadlock", "rkey_guessing", "perftest",
             "ddio_off", "gpudirect", "iommu_on", "numa_remote", "link_failure", "write_8step"]
# Between them they break every guarantee that a scenario of ours breaks.
VIOLATING = ["headroom_too_small", "pause_deadlock", "pause_storm", "pfc_missing", "router",
             "flooding_deadlock"]


def report(scenario, page, *options):
    subprocess.run([RNICSIM, "run", scenario, "--variant", "base", "-q", "--report", page, "--lang",
                    "ja", *options], capture_output=True, check=False)
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="document">(.*?)</script>',
                                text, re.S)[1])


class Texts(unittest.TestCase):
    def test_every_listed_metric_has_a_japanese_description(self):
        lines = (ROOT / "tools/export/labels_ja.txt").read_text(encoding="utf-8").splitlines()
        known = dict(zip(lines[::2], lines[1::2]))
        for english, japanese in known.items():
            self.assertRegex(japanese, r"^  \S")
            self.assertRegex(japanese, JAPANESE)
            self.assertNotRegex(english, "^ ")
        self.assertEqual(lines[::2], sorted(set(lines[::2])))
        listed = subprocess.run([RNICSIM, "list", "metrics"], capture_output=True, text=True,
                                check=True).stdout
        found = {re.sub(r"^\S+ +\[[^]]*\] ", "", line) for line in listed.splitlines()}
        self.assertGreater(len(found), 300)
        self.assertEqual(found - set(known), set())

    def test_pages_of_all_kinds_of_runs_say_nothing_in_english(self):
        with tempfile.TemporaryDirectory() as folder:
            for scenario in SCENARIOS:
                page = report(scenario, pathlib.Path(folder) / f"{scenario}.html")
                for metric in page["metrics"]:
                    self.assertRegex(metric["description"], JAPANESE, metric["path"])
                for entry in page["configuration"]:
                    self.assertRegex(entry["doc"], JAPANESE, entry["path"])
                for said in [b["text"] for b in page["bottlenecks"]] + page["notes"] + \
                            [w["deed"] for w in page["workloads"]] + list(page["words"].values()):
                    self.assertNotRegex(said, ENGLISH, scenario)
                for group in page["over_time"]["groups"]:
                    for column in group["columns"]:
                        self.assertRegex(column["description"], JAPANESE, column["path"])
                for bar in re.findall("<title>(.*?)</title>", page["swim_lanes"], re.S):
                    for line in (bar.split("\n")[0], bar.split("\n")[-1]):
                        self.assertRegex(line, JAPANESE, scenario)
                        self.assertNotRegex(line, ENGLISH, scenario)


    def test_violated_guarantees_and_notes_are_japanese(self):
        with tempfile.TemporaryDirectory() as folder:
            for scenario in VIOLATING + ["link_failure"]:
                page = report(scenario, pathlib.Path(folder) / f"{scenario}.html",
                              "--set", "expect=[]")
                said = page["violations"] + page["notes"]
                self.assertGreater(len(said), 0, scenario)
                for line in said:
                    self.assertRegex(line, JAPANESE, scenario)
                    self.assertNotRegex(line, ENGLISH, scenario)


class Page(headless.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = report("write_8step", cls.out / "ja.html")

    def setUp(self):
        self.look(self.out / "ja.html")

    def test_the_eight_steps_are_there_in_order(self):
        self.assertEqual(self.find("html").get_attribute("lang"), "ja")
        names = [text for text in self.texts(".swim .step > text:last-child")]
        self.assertEqual(names, STEPS)

    def test_a_tooltip_of_each_of_the_steps_is_japanese(self):
        tooltip = self.find("#tooltip")
        for step in "123456789":
            bar = self.find(f".bar[data-step='{step}']")
            # The page shows with the keyboard what it shows with the pointer.
            self.browser.execute_script("arguments[0].focus()", bar)
            self.assertTrue(tooltip.is_displayed())
            name, times, text = tooltip.text.split("\n")
            self.assertRegex(name, JAPANESE)
            self.assertRegex(times, r"^[\d.]+ – [\d.]+ µs$")
            self.assertRegex(text, JAPANESE)
            self.assertNotRegex(tooltip.text, ENGLISH)

    def test_a_pointer_over_the_rkey_check_tells_it_in_japanese(self):
        ActionChains(self.browser).move_to_element(
            self.find(".bar[data-part='rkey check'] rect")).perform()
        self.assertEqual(self.find("#tooltip b").text,
                         "rkey 検査：有効性・範囲・権限 (key_checker)")
        self.assertIn("rkey の検査：有効性、保護ドメイン、範囲、権限", self.find("#tooltip").text)

    def test_what_is_seen_is_japanese(self):
        limited = self.find("#summary .limited").text
        self.assertTrue(limited.startswith("w0: レイテンシ（メッセージは一つ）。"), limited)
        for seen in self.texts("h2") + self.texts(".help") + self.texts("#counters td.meaning"):
            if seen:
                self.assertRegex(seen, JAPANESE)
                self.assertNotRegex(seen, ENGLISH)

    def test_the_page_names_fonts_that_have_the_characters(self):
        for font in ("Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", "Meiryo", "IPAGothic"):
            self.assertIn(font, self.browser.execute_script(
                "return getComputedStyle(document.body).fontFamily"))
        self.assertIn("Noto Sans CJK JP", self.find("svg.swim").get_attribute("font-family"))


if __name__ == "__main__":
    unittest.main()
