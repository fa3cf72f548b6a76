"""The code in docs/tables.md runs, with the printed output of the page."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/tables.md"


def test_the_page_runs() -> None:
    names: dict[str, object] = {"__name__": "tutorial"}
    printed, outputs = "", 0
    text = PAGE.read_text()
    for block in re.finditer(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL):
        language, code = block.groups()
        if language == "python":
            output = io.StringIO()
            line = text.count("\n", 0, block.start(2))  # so that labels quote lines of the page
            with contextlib.redirect_stdout(output):
                exec(compile("\n" * line + code, str(PAGE), "exec"), names)
            printed = output.getvalue()
        else:
            assert without_places(printed) == without_places(code)
            outputs += 1
    assert outputs == 2


def without_places(text: str) -> str:
    """Return the text without the file and line before each line of code."""
    return re.sub(r"\S+:\d+: t\.", "t.", text)
