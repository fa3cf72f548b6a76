"""Tables of pages: escaped, sorted by a click, and shortened."""

import re

from graphprover.runtime.display.browser import TableCell, label, page, table
from tests.chromium import opened

HOSTILE = '<script>throw "x"</script>" onload="x'
FIVE = [
    [label(f"{letter}{HOSTILE}"), TableCell(f"{number} s", number)]
    for letter, number in zip("cabed", range(5), strict=True)
]


def shown(dom: str) -> str:
    """Return the first letters of the visible rows."""
    return "".join(re.findall(r'<tr><td class="left" data-by="(\w)', dom))


def test_names_are_only_text() -> None:
    text = page(HOSTILE, table(("name", HOSTILE), FIVE))
    assert HOSTILE not in text and text.count("<script>") == 1
    assert HOSTILE.partition('"')[0] not in text


def test_a_click_sorts_and_another_turns_it() -> None:
    text = page("Sorted", table(("name", "time"), FIVE))
    click = "document.querySelectorAll('th button')[%d].click();"
    assert shown(opened(text)) == "cabed"
    assert shown(opened(text, click % 0)) == "abcde"
    assert shown(opened(text, 2 * (click % 0))) == "edcba"
    assert shown(opened(text, click % 1)) == "debac"


def test_a_long_table_shows_the_first_rows_of_any_order() -> None:
    text = page("Long", table(("name", "time"), FIVE, most=2))
    click = "document.querySelector('th button').click();"
    assert shown(opened(text)) == "ca"
    assert shown(opened(text, click)) == "ab"
    assert shown(opened(text, click + "document.querySelector('button.more').click();")) == "abcde"
    assert "show all 5 rows" in opened(text) and "more" not in table(("name", "time"), FIVE, most=5)


def test_a_table_may_have_no_head_and_no_rows() -> None:
    dom = opened(page("Plain", table((), [[label("a"), label("b")]]) + table(("x", "y"), [])))
    assert "<thead>" in dom and dom.count("<thead>") == 1
