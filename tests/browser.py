"""Pages in Chromium; the tests of a module that imports this are skipped where there is none."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A newcomer's machine may have no browser, and `make test` must pass there; CI installs one and requires these tests.
if CHROMIUM is None and os.environ.get("SAHCNS_BROWSER") != "required":
    pytest.skip("these tests open the page in Chromium, and none is installed here", allow_module_level=True)

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        shell = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield shell
        shell.close()


@contextmanager
def visiting(browser: Any, may_ask: Callable[[str], bool], **always: Any) -> Iterator[Open]:
    """Opens addresses; at the end nothing may have been said on the console, or asked of anybody else."""
    opened: list[Any] = []

    def visit(url: str, width: int = 1280, height: int = 800, **settings: Any) -> Any:
        page = browser.new_context(viewport={"width": width, "height": height}, **always, **settings).new_page()
        page.messages, page.requests = [], []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.set_default_timeout(10_000)
        page.goto(url)
        opened.append(page)
        return page

    yield visit
    for page in opened:
        assert page.messages == []
        assert [url for url in page.requests if not may_ask(url)] == []
        page.context.close()
