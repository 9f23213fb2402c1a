# SPDX-License-Identifier: MIT
"""A headless chromium that looks at pages and notes what they ask for."""
import json
import pathlib
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By


def open_browser(profile):
    """`profile`: a folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1400,1000", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    browser.set_page_load_timeout(120)
    browser.get("about:blank")
    browser.get_log("performance")  # what the browser's own first page asked for
    return browser


def complaints(browser):
    """What the console says of the pages since the last call."""
    return [entry["message"] for entry in browser.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")]


def requests(browser):
    """What the pages asked for since the last call."""
    asked = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    return asked


class PageTest(unittest.TestCase):
    """Tests that look at pages in `out`; none may say a word on the console or ask for anything."""
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out = pathlib.Path(folder.name)
        cls.browser = open_browser(cls.out / "profile")
        cls.addClassCleanup(cls.browser.quit)

    def look(self, page):
        self.browser.get(page.as_uri())
        self.assertEqual(self.browser.execute_script(
            "return document.documentElement.dataset.drawn"), "all")

    def tearDown(self):
        self.assertEqual(complaints(self.browser), [])
        outside = [url for url in requests(self.browser)
                   if not url.startswith(("file:", "data:"))]
        self.assertEqual(outside, [])

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [element.text for element in self.all(selector)]

    def chart(self, canvas, of_chart):
        """What the expression `of_chart` is, of the canvas' `chart`."""
        return self.browser.execute_script(
            f"const chart = charts.get(arguments[0]); return {of_chart};", canvas)

    def x_range(self, canvas):
        return self.chart(canvas, "[chart.scales.x.min, chart.scales.x.max]")

    def place_in(self, canvas, x, y):
        """Pixels from the middle of the canvas, of parts of the chart's area."""
        area, width, height = self.chart(
            canvas, "[chart.chartArea, chart.canvas.clientWidth, chart.canvas.clientHeight]")
        return (round(area["left"] + x * area["width"] - width / 2),
                round(area["top"] + y * area["height"] - height / 2))

    def drag(self, canvas, begin, end):
        """`begin`, `end`: parts of the x axis."""
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        left, right = self.place_in(canvas, begin, 0.5), self.place_in(canvas, end, 0.5)
        (ActionChains(self.browser).move_to_element_with_offset(canvas, *left).click_and_hold()
         .move_by_offset(right[0] - left[0], 0).release().perform())

    def double_click(self, canvas):
        ActionChains(self.browser).double_click(canvas).perform()

    def tooltip_of(self, canvas, dataset, index):
        """The lines of the tooltip of that point or bar, its title first; [] if there is none."""
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        x, y, width, height = self.chart(canvas, f"""(({{x, y}}) =>
            [x, y, chart.canvas.clientWidth, chart.canvas.clientHeight])
            (chart.getDatasetMeta({dataset}).data[{index}].getCenterPoint())""")
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, round(x - width / 2), round(y - height / 2)).perform()
        self.browser.execute_async_script(  # what Chart.js does of a move it does before a frame
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        return self.chart(canvas, """chart.tooltip.opacity === 0 ? [] : [
            ...chart.tooltip.title, ...chart.tooltip.body.flatMap(part => part.lines)]""")
