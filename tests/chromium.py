"""Pages in a headless Chromium without network access."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Allowed console messages: bokeh's version, and a browser's about a chart that was drawn twice.
USUAL = ("[bokeh ", "ResizeObserver loop completed")


def chromium() -> str:
    """Return the program; skips the test without one, unless GRAPHPROVER_REQUIRE_CHROMIUM=1."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        if os.environ.get("GRAPHPROVER_REQUIRE_CHROMIUM") == "1":
            raise RuntimeError(f"GRAPHPROVER_REQUIRE_CHROMIUM=1, but there is none of {', '.join(NAMES)}")
        pytest.skip("no Chromium to open the page in")
    return found


def opened(page: str, script: str = "") -> str:
    """Return the document of a page after its scripts and ``script``; fails if the page reports errors."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        head, end, tail = page.rpartition("</body>")
        file.write_text(f"{head}<script>{script}</script>{end}{tail}" if script else page)
        return _run(file, "--dump-dom")


def screenshot(page: str, picture: Path, width: int, height: int, dark: bool) -> None:
    """Save a screenshot of a window of this size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(page)
        theme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        _run(file, f"--screenshot={picture}", f"--window-size={width},{height}", "--hide-scrollbars", theme)


def _run(file: Path, *options: str) -> str:
    home = file.parent / "home"
    ran = subprocess.run(
        [
            *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home}"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=4000"),
            *options,
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    said = re.findall(r"CONSOLE:\d+\] \"(.*)", ran.stderr)
    assert not [line for line in said if not line.startswith(USUAL)], said
    return ran.stdout


class Browser:
    """A page of a server of this host, with Chromium's DevTools protocol over two pipes."""

    def __init__(self, reading: int, writing: int) -> None:
        self._answers, self._writing, self._number = os.fdopen(reading, "rb"), writing, 0
        self.console: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def _ask(self, method: str, **parameters: Any) -> Any:
        """Send a request, and return its result."""
        answer = self._answer(method, **parameters)
        assert "error" not in answer, answer
        return answer["result"]

    def _answer(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a request, and return its answer, which may be an error."""
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if hasattr(self, "_session"):
            request["sessionId"] = self._session
        os.write(self._writing, json.dumps(request, allow_nan=False).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                return answer
            if answer.get("method") == "Log.entryAdded":
                self.console.append(answer["params"]["entry"]["text"])
            if answer.get("method") == "Runtime.exceptionThrown":
                self.console.append(str(answer["params"]["exceptionDetails"]))

    def _message(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            data += byte
        found: dict[str, Any] = json.loads(data)
        return found

    def open(self, url: str, width: int = 1280) -> None:
        """Open a page in a window of this width."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self._ask("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """Return the value of an expression."""
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, condition: str, seconds: float = 600.0) -> None:
        """Wait until an expression is true; one that fails, because another page is being loaded, is not."""
        end = time.monotonic() + seconds
        while not self._is_true(condition):
            assert time.monotonic() < end, (condition, self.run("document.body.innerText"), self.console)
            time.sleep(0.05)

    def _is_true(self, condition: str) -> bool:
        answer = self._answer("Runtime.evaluate", expression=f"!!({condition})", returnByValue=True)
        return answer.get("result", {}).get("result", {}).get("value") is True

    def choose(self, selector: str, file: Path) -> None:
        """Choose the file of an input element."""
        root = self._ask("DOM.getDocument")["root"]["nodeId"]
        element = self._ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self._ask("DOM.setFileInputFiles", nodeId=element, files=[str(file)])


@contextmanager
def browser() -> Iterator[Browser]:
    """Run a browser that reaches only servers of this host."""
    given, writing = os.pipe()
    reading, answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        options = f"--headless --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir={home}".split()
        options.append("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
        # Chromium reads from descriptor 3 and writes to 4.
        script = f'exec "$0" "$@" 3<&{given} 4>&{answers}'
        process = subprocess.Popen(
            ["bash", "-c", script, chromium(), *options],
            pass_fds=(given, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(given)
        os.close(answers)
        try:
            yield Browser(reading, writing)
        finally:
            process.terminate()
            process.wait(600)
            os.close(writing)
