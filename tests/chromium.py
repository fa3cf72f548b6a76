"""Pages in a headless Chromium without network access."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

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
        timeout=120,
        check=True,
    )
    said = re.findall(r"CONSOLE:\d+\] \"(.*)", ran.stderr)
    assert not [line for line in said if not line.startswith(USUAL)], said
    return ran.stdout
