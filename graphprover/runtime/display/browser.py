"""HTML for browsers: a page in one file that needs no network, colours for light and dark mode, and sortable tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

# Colours by name, light and dark. Text has WCAG's contrast for text, the barrier WCAG's contrast
# for graphics.
PAPER = {
    "paper": ("#ffffff", "#12161c"),
    "band": ("#f4f6f8", "#1a2028"),
    "ink": ("#1b1f24", "#e6e9ed"),
    "faint": ("#57606a", "#9aa4b0"),
    "line": ("#c9d1d9", "#39424e"),
    "barrier": ("#6e7781", "#8b949e"),
    "link": ("#0057b8", "#88bbff"),
    "alarm": ("#b3261e", "#ff8a80"),
}


def colours(named: Mapping[str, tuple[str, str]]) -> str:
    """Return a style with the colours as variables, ``--ink`` for ``ink``, for light and dark mode."""
    day, night = ("".join(f"--{name}:{both[theme]};" for name, both in named.items()) for theme in (0, 1))
    return f":root{{color-scheme:light dark;{day}}}@media(prefers-color-scheme:dark){{:root{{{night}}}}}"


STYLE = (
    colours(PAPER)
    + """
body{margin:1.5rem auto;max-width:1900px;padding:0 1rem;font:14px/1.45 system-ui,sans-serif;background:var(--paper);
color:var(--ink)}
h1{font-size:1.3rem;margin:0 0 .5rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .4rem}
p{margin:.3rem 0;max-width:75rem;overflow-wrap:anywhere}p,small,.faint{color:var(--faint)}
.scroll{overflow:auto;max-height:80vh}figure{margin:0;overflow-x:auto}
table{border-collapse:separate;border-spacing:0;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
.left{text-align:left}
tbody tr{background:var(--paper)}tbody tr:nth-child(even){background:var(--band)}
td:first-child,th:first-child{position:sticky;left:0;background:inherit;white-space:normal;overflow-wrap:break-word;
min-width:8rem;max-width:28rem}
thead{background:var(--paper)}
thead th{position:sticky;top:0;z-index:1;background:inherit;white-space:normal;vertical-align:bottom}
thead th:first-child{z-index:2}
th button,button.more{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th button{font-weight:600}button.more{color:var(--link);margin:.3rem 0}
th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}
td small{display:inline-block;min-width:4em}
td.bar{background:linear-gradient(var(--line),var(--line)) left/var(--part) 100% no-repeat}
@media(max-width:600px){
body{padding:0 .5rem;margin-top:.7rem}th,td{padding:.2rem .4rem}td:first-child{max-width:9rem;overflow-wrap:anywhere}}
"""
)

# A click on a column's name sorts by it: numbers descending, text ascending; a second click reverses the order.
# A long table shows its first rows, in any order, and the others on demand.
SCRIPT = """
for (const table of document.querySelectorAll("table")) table.tHead?.addEventListener("click", event => {
  const head = event.target.closest("th");
  if (!head) return;
  const numeric = !head.classList.contains("left"), place = head.cellIndex, key = row => row.cells[place].dataset.by;
  const order = head.ariaSort ? (head.ariaSort === "ascending" ? -1 : 1) : numeric ? -1 : 1;
  const compare = numeric ? (a, b) => key(a) - key(b) : (a, b) => key(a).localeCompare(key(b), "en", {numeric: true});
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((a, b) => order * compare(a, b)));
  shorten(table);
});
function shorten(table) {
  [...table.tBodies[0].rows].forEach((row, place) => row.hidden = place >= (table.dataset.most || Infinity));
}
for (const table of document.querySelectorAll("table[data-most]")) {
  const more = document.createElement("button");
  more.className = "more";
  more.textContent = `show all ${table.tBodies[0].rows.length} rows`;
  more.addEventListener("click", () => { delete table.dataset.most; shorten(table); more.remove(); });
  table.parentElement.after(more);
  shorten(table);
}
"""


@dataclass(frozen=True)
class TableCell:
    """A cell of a table."""

    text: str
    by: float | str  # sort key; numbers are aligned right
    beside: str = ""  # small text after it
    part: float | None = None  # share of the whole, shown as a bar behind it
    title: str = ""  # tooltip


def label(text: str, title: str = "") -> TableCell:
    """Return a cell of text."""
    return TableCell(text, text, title=title)


def table(heads: Sequence[str], rows: Iterable[Sequence[TableCell]], most: int = 0) -> str:
    """Return a scrolling table; of more than ``most`` rows, unless 0, only these are shown at first.

    Without ``heads`` it is not sortable.
    """
    body = list(rows)
    left = {
        place for place in range(len(body[0]) if body else 0) if all(isinstance(row[place].by, str) for row in body)
    }
    kinds = [' class="left"' if place in left else "" for place in range(len(heads))]
    names = (f"<th{kind}><button>{escape(text)}</button></th>" for kind, text in zip(kinds, heads, strict=True))
    head = f"<thead><tr>{''.join(names)}</tr></thead>" if heads else ""
    lines = (f"<tr>{''.join(_cell(cell, place in left) for place, cell in enumerate(row))}</tr>" for row in body)
    short = f' data-most="{most}"' if 0 < most < len(body) else ""
    shown = f"<table{short}>{head}<tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll">{shown}</div>'


def _cell(cell: TableCell, left: bool) -> str:
    kinds = " ".join(["left"] * left + ["bar"] * (cell.part is not None))
    attributes = f' class="{kinds}"' if kinds else ""
    attributes += f' style="--part:{min(max(cell.part, 0), 1):.1%}"' if cell.part is not None else ""
    attributes += f' title="{escape(cell.title)}"' if cell.title else ""
    beside = f" <small>{escape(cell.beside)}</small>" if cell.beside else ""
    return f'<td{attributes} data-by="{escape(str(cell.by))}">{escape(cell.text)}{beside}</td>'


def page(title: str, body: str, style: str = "") -> str:
    """Return a page; ``body`` and ``style`` are HTML and CSS, the title is text."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>
{body}
<script>{SCRIPT}</script>
</body></html>
"""
