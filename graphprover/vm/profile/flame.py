"""A profile as a flame graph: a page in one file that needs no network."""

import json
from collections.abc import Iterator
from html import escape

from graphprover.runtime.display.browser import TableCell, label, page, table
from graphprover.vm.profile.tree import CHIP, FUNCTION, LINE, TABLE, Frame, by_function

MEASURES = ("cells", "cycles", "cost")  # of frames' widths
KINDS = {FUNCTION: "functions", LINE: "source lines", CHIP: "chips", TABLE: "tables"}  # by kind, in the legend
MOST = 19  # rows of the table shown at first

STYLE = """
:root{--shade:80%}@media(prefers-color-scheme:dark){:root{--shade:27%}}
#graph{position:relative;overflow:hidden;margin:.5rem 0}
#graph button{position:absolute;height:19px;box-sizing:border-box;border:0;border-left:1px solid var(--paper);
padding:0 3px;font:12px/19px system-ui,sans-serif;color:var(--ink);text-align:left;white-space:nowrap;overflow:hidden;
text-overflow:ellipsis;cursor:pointer;background:hsl(var(--hue),60%,var(--shade))}
#graph button:hover,#graph button:focus-visible{outline:2px solid var(--link);outline-offset:-2px}
#graph .above{opacity:.6}#graph .other{opacity:.3}
.function{--hue:28}.line{--hue:130}.chip{--hue:210}.table{--hue:285}
.controls,.legend{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:center;margin:.5rem 0;padding:0}
.legend{list-style:none}
.controls input{font:inherit}.controls [type=search]{width:14rem;max-width:100%}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.35rem;vertical-align:-.05rem;
background:hsl(var(--hue),60%,var(--shade))}
#said{min-height:2.9em;color:var(--ink);overflow-wrap:anywhere}
"""

# The frames come in the order of the tree, each with its depth. Frames of less than a pixel are not drawn.
SCRIPT = """
const data = JSON.parse(document.getElementById("frames").textContent), ROW = 20;
const [graph, said, search] = ["graph", "said", "search"].map(id => document.getElementById(id));
const path = [];
for (const [depth, name, kind, ...values] of data.frames) {
  const frame = {name: data.names[name], kind: data.kinds[kind], values, parts: [], up: path[depth - 1]};
  path[depth] = frame;
  frame.up?.parts.push(frame);
}
const root = path[0];
let zoomed = root, by = data.by, wanted = "", deepest = 0;
const size = frame => frame.values[data.measures.indexOf(by)];
const share = (part, whole) => whole ? `${(100 * part / whole).toFixed(1)} %` : "-";
const matches = frame => wanted && frame.name.toLowerCase().includes(wanted);
const figures = frame => data.measures.map((measure, place) => {
  const value = frame.values[place];
  return `${value.toLocaleString("en")} ${measure} (${share(value, root.values[place])})`;
}).join(", ");
function found(frame) {  // the size of the outermost frames that match
  return matches(frame) ? size(frame) : frame.parts.reduce((sum, part) => sum + found(part), 0);
}
function say(frame) {
  const sum = wanted ? ` Found: ${share(found(zoomed), size(zoomed))} of the drawn ${by}.` : "";
  said.textContent = `${frame.name}: ${figures(frame)}.${sum}`;
}
function box(frame, left, width, depth, above) {
  const drawn = document.createElement("button");
  drawn.className = `${frame.kind}${above ? " above" : wanted && !matches(frame) ? " other" : ""}`;
  if (width * graph.clientWidth > 24) drawn.textContent = frame.name;
  drawn.title = `${frame.name}\\n${figures(frame)}`;
  drawn.style.cssText = `left:${100 * left}%;width:${100 * width}%;top:${ROW * depth}px`;
  drawn.onclick = () => { zoomed = frame; draw(); graph.querySelector("button:not(.above)").focus(); };
  drawn.onmouseenter = drawn.onfocus = () => say(frame);
  graph.append(drawn);
  deepest = Math.max(deepest, depth);
}
function tree(frame, left, width, depth) {
  if (!size(frame) || width * graph.clientWidth < 1) return;
  box(frame, left, width, depth, false);
  for (const part of [...frame.parts].sort((a, b) => size(b) - size(a))) {
    const own = width * size(part) / size(frame);
    tree(part, left, own, depth + 1);
    left += own;
  }
}
function draw() {
  graph.replaceChildren();
  deepest = 0;
  const above = [];
  for (let one = zoomed.up; one; one = one.up) above.unshift(one);
  above.forEach((frame, depth) => box(frame, 0, 1, depth, true));
  tree(zoomed, 0, 1, above.length);
  graph.style.height = `${ROW * (deepest + 1)}px`;
  say(zoomed);
}
for (const choice of document.getElementsByName("by")) choice.onchange = () => { by = choice.value; draw(); };
search.oninput = () => { wanted = search.value.trim().toLowerCase(); draw(); };
addEventListener("keydown", event => { if (event.key === "Escape") { zoomed = root; draw(); } });
addEventListener("resize", draw);
draw();
"""


def flame_graph(root: Frame, title: str, by: str) -> str:
    """Return the page; ``by``: the measure of the widths at first, which the page can change."""
    names: dict[str, int] = {}
    kinds = list(KINDS)
    frames = [
        (depth, names.setdefault(one.name, len(names)), kinds.index(one.kind), one.cells, one.cycles, one.cost)
        for depth, one in _frames(root)
    ]
    data = {"names": list(names), "kinds": kinds, "measures": MEASURES, "by": by, "frames": frames}
    encoded = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    choices = " ".join(
        f'<label><input type="radio" name="by" value="{one}"{" checked" * (one == by)}> {one}</label>'
        for one in MEASURES
    )
    legend = "".join(f'<li><i class="{kind}"></i>{text}</li>' for kind, text in KINDS.items())
    body = f"""<h1>Profile of {escape(title)}</h1>
<p>Below each frame are its parts, as wide as their share of the run's cost to a proof. A click makes a frame as wide as
the page; Escape shows the whole run again.</p>
<div class="controls"><span>Width by</span> {choices} <input type="search" id="search" placeholder="find a function"
aria-label="find a function"></div>
<ul class="legend">{legend}</ul>
<p id="said"></p>
<div id="graph"></div>
<h2>Functions</h2>
{_functions(root)}
<script type="application/json" id="frames">{encoded}</script>
<script>{SCRIPT}</script>"""
    return page(f"Profile of {title}", body, STYLE)


def _frames(root: Frame) -> Iterator[tuple[int, Frame]]:
    """Yield all frames with their depths, each before its children."""
    waiting = [(0, root)]
    while waiting:
        depth, frame = waiting.pop()
        yield depth, frame
        waiting += [(depth + 1, child) for child in reversed(frame.children.values())]


def _functions(root: Frame) -> str:
    """Return the table of all functions, by their own cells."""

    def cell(count: int, whole: int) -> TableCell:
        share = count / whole if whole else 0.0
        return TableCell(f"{count:,}", count, f"{share:.1%}", share)

    rows = [
        [
            label(own.name),
            *(cell(count, root.cells) for count in (own.own_cells, own.cells)),
            *(cell(count, root.cycles) for count in (own.own_cycles, own.cycles)),
            *(cell(count, root.cost) for count in (own.own_cost, own.cost)),
        ]
        for own in by_function(root)
    ]
    heads = ("function", *(head for measure in MEASURES for head in (f"own {measure}", "with callees")))
    return table(heads, rows, MOST)
