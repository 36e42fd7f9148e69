"""A real browser without a window, for tests that look at pages."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable

import numpy as np
import pytest


def open_browser(width: int = 1100, height: int = 640):
    """Chromium and its driver, by the names Debian gives them; skips the test where they are not installed."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install 'taut[test]'")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    flags = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars")
    drawing = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", f"--window-size={width},{height}")
    for flag in (*flags, *drawing):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    opened.set_page_load_timeout(120)
    return Browser(opened)


class Browser:
    """What a person does with a page: look, click, move a slider."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        self.driver.get("about:blank")
        self.driver.get_log("browser")  # what an earlier page said
        self.driver.get(url)

    def errors(self) -> list[str]:
        """What the page complained about since it was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def picture(self) -> np.ndarray:
        """The window, (h, w, 3), without the panel on its right."""
        whole = self.window()
        return whole[:, : max(whole.shape[1] - 400, whole.shape[1] // 2)]

    def window(self) -> np.ndarray:
        import imageio.v3 as images
        from selenium.common.exceptions import TimeoutException

        for attempt in range(5):
            try:
                return images.imread(io.BytesIO(self.driver.get_screenshot_as_png()))[..., :3].astype(int)
            except TimeoutException:  # drawn by the processor: a busy machine takes longer than the driver waits
                if attempt == 4:
                    raise
        raise AssertionError

    def part(self, xpath: str) -> np.ndarray:
        """What is seen of an element; the page may put another in its place meanwhile."""
        from selenium.common.exceptions import StaleElementReferenceException

        def found():
            element = self.find(xpath)
            try:
                self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
                return self.driver.execute_script("return arguments[0].getBoundingClientRect().toJSON()", element)
            except StaleElementReferenceException:
                return None

        box = until(found, 30, xpath)
        left, top = round(box["x"]), round(box["y"])
        return self.window()[top : top + round(box["height"]), left : left + round(box["width"])]

    def still(self, look: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """A picture of a page that has stopped, or what `look` returns: twice the same."""
        look = look or self.picture

        def tried():
            one, other = look(), look()
            return [other] if different(one, other) == 0 else None

        return until(tried, 120, "a still picture")[0]

    def save(self, path) -> None:
        self.driver.save_screenshot(str(path))

    def find(self, xpath: str, timeout: float = 60.0):
        return until(lambda: next(iter(self.driver.find_elements("xpath", xpath)), None), timeout, xpath)

    def click(self, text: str) -> None:
        """A button or the title of a folder; it may be on its way somewhere while a folder opens."""
        from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException

        def clicked() -> bool:
            element = self.find(f"//*[normalize-space(text())='{text}']")
            try:
                self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
                element.click()
            except (ElementClickInterceptedException, StaleElementReferenceException):
                return False
            return True

        until(clicked, 30, f"a click on {text}")

    def tick(self, label: str) -> None:
        """A checkbox."""
        row = self.find(f"//label[.='{label}']/ancestor::*[.//input[@type='checkbox']][1]")
        box = row.find_element("xpath", ".//input[@type='checkbox']")
        until(box.is_displayed, name=f"the box {label}")
        self.driver.execute_script("arguments[0].click()", box)

    def dismiss(self) -> None:
        """The notice that no graphics card draws."""
        for button in self.driver.find_elements("css selector", ".mantine-Notification-closeButton"):
            button.click()

    def slider(self, label: str):
        """The handle of a slider, which takes keys."""
        handle = self.find(f"//label[.='{label}']/ancestor::*[.//*[@role='slider']][1]//*[@role='slider']")
        until(handle.is_displayed, name=f"the slider {label}")  # a folder takes a moment to open
        time.sleep(0.3)
        return handle

    def close(self) -> None:
        self.driver.quit()


def until(what: Callable, timeout: float = 60.0, name: str = ""):
    """The value of `what` once it is true."""
    deadline = time.monotonic() + timeout
    while not (value := what()):
        assert time.monotonic() < deadline, f"{name or what} did not come true in {timeout} s"
        time.sleep(0.05)
    return value


def different(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the pixels that differ by more than noise."""
    return float((np.abs(one - other).max(axis=-1) > 24).mean())


def green(picture: np.ndarray) -> float:
    """Share of the pixels that are clearly greener than anything else."""
    red, greens, blue = np.moveaxis(picture, -1, 0)
    return float((greens > np.maximum(red, blue) + 20).mean())
