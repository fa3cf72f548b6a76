"""The thresholds of layout policies in docs/cost.md equal the code's; the acceptance rule depends on them."""

import re
from dataclasses import asdict
from pathlib import Path

from graphprover.vm.statement.shape import COMPACT, DEFAULT, LayoutPolicy

PAGE = Path(__file__).parents[3] / "docs/cost.md"
ROW = re.compile(r"^\| `(\w+)` \| (\S+) \| (\S+) \| \S.* \|$", re.MULTILINE)


def documented() -> tuple[LayoutPolicy, LayoutPolicy]:
    """Return the default and the compact policy of the table under the heading "Layout policy"."""
    section = re.split(r"^#+ Layout policy$", PAGE.read_text(), flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    rows = {name: values for name, *values in ROW.findall(section)}
    default, compact = ({name: number(values[i]) for name, values in rows.items()} for i in range(2))
    return LayoutPolicy(**default), LayoutPolicy(**compact)


def number(text: str) -> int:
    """Return the integer that a cell such as `2^16` or `65,536` states."""
    base, *exponent = map(int, text.replace(",", "").split("^"))
    return int(base ** exponent[0]) if exponent else base


def test_documented_thresholds_are_the_codes() -> None:
    default, compact = documented()
    assert asdict(default) == asdict(DEFAULT)
    assert asdict(compact) == asdict(COMPACT)


def test_the_compact_policy_is_32_times_the_default_except_for_merged_heights() -> None:
    times_32 = {name: 32 * value for name, value in asdict(DEFAULT).items()}
    assert asdict(COMPACT) == times_32 | {"merged_rows": 1 << 16}
