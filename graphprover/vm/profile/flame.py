"""A flame graph in one SVG file without dependencies.

The widest frame is the run, at the top; below a frame are its parts, with widths in proportion to their cost. A click
on a frame makes it as wide as the picture, and pointing at one shows its cost. Texts keep their size in any width of
the window.
"""

from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from graphprover.reports.browser import PAPER, colours
from graphprover.vm.profile.tree import CHIP, FUNCTION, LINE, NO_FUNCTION, TABLE, Frame

WIDTH, ROW, TOP = 1200, 18, 108  # pixels: of the picture, of a frame, above the frames
GAP = 0.7  # pixels between frames; narrow ones are half a pixel at least
LEAST = 1e-4  # of the whole: narrower frames are not drawn
_CHARACTER = 6.6  # pixels
_HUES = {FUNCTION: (8, 46), LINE: (95, 40), CHIP: (200, 30), TABLE: (0, 1)}  # first hue, and how many
_GREY = "#c4c4c8"
_LEGEND = {  # by kind of frame: its colour and its description
    FUNCTION: ("hsl(28,75%,68%)", "functions"),
    LINE: ("hsl(115,70%,68%)", "source lines"),
    CHIP: ("hsl(215,75%,70%)", "[chips]"),
    TABLE: (_GREY, NO_FUNCTION),
}
_HELP = ("cell: a field element that the proof commits to", f"cycle: an instruction; not drawn: below {LEAST:.2%}")

_STYLE = (
    colours(PAPER)
    + """
svg.flame{font:11px ui-monospace,monospace;background:var(--paper)}
.flame text{fill:#111;pointer-events:none}.flame .head{fill:var(--ink);font-size:14px}.flame .hint{fill:var(--faint)}
.flame .says{fill:var(--ink)}
.flame .act{pointer-events:auto;cursor:pointer;text-decoration:underline;fill:var(--link)}
.flame .f{cursor:pointer}.flame .f:hover rect{stroke:var(--ink);stroke-width:1.5}
.flame .above rect{opacity:.7}.flame .found rect{fill:#d6f !important}
"""
)

# Of the elements: data-x and data-w, the frame's place in the whole (0 to 1); data-d, its depth; data-n, its name. No
# character with a meaning in XML.
_SCRIPT = """
(function(){
var svg=document.currentScript.closest('svg'),H=svg.viewBox.baseVal.height,W,wide;
var all=Array.from(svg.querySelectorAll('.f')),now=all[0];
var says=Array.from(svg.querySelectorAll('.says')),rest=says.map(function(t){return t.textContent;});
function num(f,k){return +f.dataset[k];}
function cut(name,room){
 var n=Math.floor(room/6.6);
 return Math.sign(n-name.length)!==-1?name:Math.sign(n-3)===-1?'':name.slice(0,n-1)+'\u2026';
}
function say(lines){says.forEach(function(t,i){t.textContent=cut(lines[i],W-16);});}
function zoom(to){
 var x=num(to,'x'),w=num(to,'w'),d=num(to,'d'),end=x+w;
 now=to;
 all.forEach(function(f){
  var fx=num(f,'x'),fw=num(f,'w'),above=Math.sign(d-num(f,'d'))===1;
  var inside=Math.min(fx+fw,end+1e-12)-Math.max(fx,x-1e-12)-Math.min(fw,w)+1e-9;
  var shown=Math.sign(inside)===1;
  f.style.display=shown?'':'none';
  f.classList.toggle('above',above);
  if(!shown)return;
  var a=above?0:(fx-x)/w*W,b=above?W:fw/w*W,r=f.querySelector('rect'),t=f.querySelector('text');
  r.setAttribute('x',a);r.setAttribute('width',Math.max(b-GAP,Math.min(b,.5)));
  t.setAttribute('x',a+3);
  t.textContent=cut(f.dataset.n,b-4);
 });
}
function fit(){
 W=svg.getBoundingClientRect().width||+svg.dataset.width;
 svg.setAttribute('viewBox','0 0 '+W+' '+H);svg.setAttribute('height',H);
 say(rest);zoom(now);
}
function find(){
 var part=prompt('Frames whose name has');
 if(part===null)return;
 var end=0,share=0,count=0,low=part.toLowerCase();
 all.forEach(function(f){
  var hit=low!==''?f.dataset.n.toLowerCase().includes(low):false,x=num(f,'x'),w=num(f,'w');
  f.classList.toggle('found',hit);
  if(!hit)return;
  count++;
  if(Math.sign(x+1e-9-end)!==-1){share+=w;end=x+w;}
 });
 rest=low===''?HELP:[count+(count===1?' frame has ':' frames have ')+part,(share*100).toFixed(2)+'% of all'];
 say(rest);
}
function press(name,act){
 var b=svg.querySelector(name);
 b.addEventListener('click',act);
 b.addEventListener('keydown',function(e){if(e.key==='Enter')act();});
}
var HELP=rest,GAP=+svg.dataset.gap;
all.forEach(function(f){
 f.addEventListener('click',function(){zoom(f);});
 f.addEventListener('mouseover',function(){
  var n=f.dataset.n;
  say([n,f.querySelector('title').textContent.slice(n.length+2)]);
 });
 f.addEventListener('mouseout',function(){say(rest);});
});
press('.all',function(){zoom(all[0]);});
press('.find',find);
window.addEventListener('keydown',function(e){if(e.key==='Escape')zoom(all[0]);});
window.addEventListener('resize',fit);
fit();
})();
"""


def svg(root: Frame, title: str, by: str) -> str:
    """Return the picture as a file; ``by``: the measure of widths."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + drawing(root, title, by) + "\n"


def drawing(root: Frame, title: str, by: str) -> str:
    """Return the SVG element alone."""
    frames: list[str] = []
    total = max(getattr(root, by), 1)
    depth = 0
    kinds = set()
    waiting = [(root, 0, 0)]
    while waiting:
        frame, at, level = waiting.pop()
        depth = max(depth, level)
        kinds.add(frame.kind)
        frames.append(_drawn(frame, at / total, getattr(frame, by) / total, level, root))
        # The first child is the next drawn: frames come from left to right, parents first.
        below = []
        for child in frame.children.values():
            if getattr(child, by) >= LEAST * total:
                below.append((child, at, level + 1))
            at += getattr(child, by)
        waiting += reversed(below)
    height = TOP + ROW * (depth + 1) + 8
    sums = f"{root.cells:,} cells, {root.cycles:,} cycles; widths are {by}"
    legend = "  ".join(
        f'<tspan fill="{colour}">\u25a0</tspan> {escape(text)}'
        for kind, (colour, text) in _LEGEND.items()
        if kind in kinds
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flame" viewBox="0 0 {WIDTH} {height}" width="100%" '
        f'preserveAspectRatio="xMinYMin" data-width="{WIDTH}" data-gap="{GAP}" role="img" '
        f"aria-label={_attribute(f'{title}: {sums}')}><style>{_STYLE}</style>"
        f'<text class="head" x="8" y="18">{escape(title)}</text><text class="hint" x="8" y="36">{sums}</text>'
        f'<text class="hint" x="8" y="52" xml:space="preserve">{legend}</text>'
        '<text class="act all" x="8" y="68" tabindex="0" role="button">all of it</text>'
        '<text class="act find" x="82" y="68" tabindex="0" role="button">search</text>'
        '<text class="hint" x="136" y="68">click a frame to widen it</text>'
        f'<text class="says" x="8" y="86">{_HELP[0]}</text><text class="says" x="8" y="100">{_HELP[1]}</text>'
        f"{''.join(frames)}<script>{_SCRIPT}</script></svg>"
    )


def _drawn(frame: Frame, at: float, share: float, level: int, root: Frame) -> str:
    x, width, y = WIDTH * at, WIDTH * share, TOP + ROW * level
    says = f"{frame.name}: {_of(frame.cells, root.cells)} cells, {_of(frame.cycles, root.cycles)} cycles"
    return (
        f'<g class="f" data-x="{at:.9f}" data-w="{share:.9f}" data-d="{level}" data-n={_attribute(frame.name)}>'
        f"<title>{escape(says)}</title>"
        f'<rect x="{x:.3f}" y="{y}" width="{max(width - GAP, min(width, 0.5)):.3f}" height="{ROW - 1}" '
        f'rx="1" fill="{_fill(frame)}"/>'
        f'<text x="{x + 3:.3f}" y="{y + 12}">{escape(_cut(frame.name, width - 4))}</text></g>'
    )


def _cut(name: str, room: float) -> str:
    """Return as much of a name as fits; nothing if too little fits."""
    most = int(room / _CHARACTER)
    return name if len(name) <= most else f"{name[: most - 1]}…" if most >= 3 else ""


def _attribute(text: str) -> str:
    return quoteattr(text, {"'": "&apos;"})


def _of(part: int, whole: int) -> str:
    return f"{part:,} ({part / max(whole, 1):.2%})"


def _fill(frame: Frame) -> str:
    """Return the colour, equal for all frames of one name."""
    if frame.kind == TABLE or frame.name == NO_FUNCTION:
        return _GREY
    hue, span = _HUES[frame.kind]
    mixed = crc32(frame.name.encode("utf-8", "replace"))
    return f"hsl({hue + mixed % span},{60 + mixed // 64 % 25}%,{66 + mixed // 4096 % 12}%)"
