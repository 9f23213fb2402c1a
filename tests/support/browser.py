# SPDX-License-Identifier: MIT
"""A headless chromium that looks at pages and notes what they ask for."""
import json

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


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
