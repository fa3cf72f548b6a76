"""A flame graph: one SVG file that needs nothing else.

The widest frame is the run, at the top; below a frame is what it is made of, as wide as what it takes. A click on a
frame makes it as wide as the picture.
"""

from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from graphprover.vm.profile.tree import FAMILY, FUNCTION, LINE, NO_FUNCTION, TABLE, Frame

WIDTH, ROW, TOP = 1200, 18, 46  # pixels: of the picture, of a frame, above the frames
LEAST = 1e-4  # of the whole: narrower frames are not drawn
_CHARACTER = 6.6  # pixels
_HUES = {FUNCTION: (8, 46), LINE: (95, 40), FAMILY: (200, 30), TABLE: (0, 1)}  # first hue, and how many

_STYLE = """
svg.flame{font:11px ui-monospace,monospace;background:#fff}
.flame text{fill:#111;pointer-events:none}.flame .head{fill:#222;font-size:14px}.flame .hint{fill:#555}
.flame .act{pointer-events:auto;cursor:pointer;text-decoration:underline}
.flame rect{stroke:#fff;stroke-width:.5}.flame .f{cursor:pointer}.flame .f:hover rect{stroke:#000;stroke-width:1.5}
.flame .found rect{fill:#d6f !important}
@media(prefers-color-scheme:dark){svg.flame{background:#16181c}.flame .head{fill:#eee}.flame .hint{fill:#aaa}
.flame rect{stroke:#16181c}.flame .f:hover rect{stroke:#fff}}
"""

# Of the elements: data-x and data-w, where a frame is in the whole (0 to 1); data-d, its depth. No character that XML
# gives a meaning to.
_SCRIPT = """
(function(){
var svg=document.currentScript.closest('svg'),W=+svg.dataset.width;
var all=Array.from(svg.querySelectorAll('.f'));
function zoom(to){
 var x=+to.dataset.x,w=+to.dataset.w,d=+to.dataset.d,end=x+w;
 all.forEach(function(f){
  var fx=+f.dataset.x,fw=+f.dataset.w,fd=+f.dataset.d,above=Math.sign(d-fd)===1;
  var inside=Math.min(fx+fw,end+1e-12)-Math.max(fx,x-1e-12)-Math.min(fw,w)+1e-9;
  var shown=Math.sign(inside)===1;
  f.style.display=shown?'':'none';
  if(!shown)return;
  var a=above?0:(fx-x)/w*W,b=above?W:fw/w*W,r=f.querySelector('rect'),t=f.querySelector('text');
  r.setAttribute('x',a);r.setAttribute('width',b);
  var n=Math.floor((b-4)/6.6),name=f.dataset.n;
  t.setAttribute('x',a+3);
  t.textContent=Math.sign(n-2)===-1?'':Math.sign(n-name.length)===-1?name.slice(0,n-1)+'\\u2026':name;
 });
}
all.forEach(function(f){f.addEventListener('click',function(){zoom(f);});});
svg.querySelector('.all').addEventListener('click',function(){zoom(all[0]);});
svg.querySelector('.find').addEventListener('click',function(){
 var part=prompt('Frames whose name has');
 all.forEach(function(f){f.classList.toggle('found',Boolean(part)?f.dataset.n.includes(part):false);});
});
})();
"""


def svg(root: Frame, title: str, by: str) -> str:
    """The picture as a file; ``by``: what widths mean."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + drawing(root, title, by) + "\n"


def drawing(root: Frame, title: str, by: str) -> str:
    """The element alone."""
    frames: list[str] = []
    total = max(getattr(root, by), 1)
    depth = 0
    waiting = [(root, 0, 0)]
    while waiting:
        frame, at, level = waiting.pop()
        depth = max(depth, level)
        frames.append(_drawn(frame, at / total, getattr(frame, by) / total, level, root))
        for child in frame.children.values():
            if getattr(child, by) >= LEAST * total:
                waiting.append((child, at, level + 1))
            at += getattr(child, by)
    height = TOP + ROW * (depth + 1) + 8
    head = f"{title}: {root.cells:,} cells, {root.cycles:,} cycles; widths are {by}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flame" viewBox="0 0 {WIDTH} {height}" width="100%" '
        f'data-width="{WIDTH}" role="img" aria-label={_attribute(head)}>'
        f'<style>{_STYLE}</style><text class="head" x="8" y="18">{escape(head)}</text>'
        '<text class="hint act all" x="8" y="36">all of it</text>'
        '<text class="hint act find" x="88" y="36">search</text>'
        f'<text class="hint" x="150" y="36">click a frame to widen it; what takes less than {LEAST:.2%} is not drawn'
        f"</text>{''.join(frames)}<script>{_SCRIPT}</script></svg>"
    )


def _drawn(frame: Frame, at: float, share: float, level: int, root: Frame) -> str:
    x, width, y = WIDTH * at, WIDTH * share, TOP + ROW * level
    room = int((width - 4) / _CHARACTER)
    name = frame.name if len(frame.name) <= room else frame.name[: room - 1] + "…"
    says = f"{frame.name}: {_of(frame.cells, root.cells)} cells, {_of(frame.cycles, root.cycles)} cycles"
    return (
        f'<g class="f" data-x="{at:.9f}" data-w="{share:.9f}" data-d="{level}" data-n={_attribute(frame.name)}>'
        f"<title>{escape(says)}</title>"
        f'<rect x="{x:.3f}" y="{y}" width="{width:.3f}" height="{ROW - 1}" rx="1" fill="{_fill(frame)}"/>'
        f'<text x="{x + 3:.3f}" y="{y + 12}">{escape(name) if room > 1 else ""}</text></g>'
    )


def _attribute(text: str) -> str:
    return quoteattr(text, {"'": "&apos;"})


def _of(part: int, whole: int) -> str:
    return f"{part:,} ({part / max(whole, 1):.2%})"


def _fill(frame: Frame) -> str:
    """The same for all frames of one name."""
    if frame.kind == TABLE or frame.name == NO_FUNCTION:
        return "#c4c4c8"
    hue, span = _HUES[frame.kind]
    mixed = crc32(frame.name.encode("utf-8", "replace"))
    return f"hsl({hue + mixed % span},{60 + mixed // 64 % 25}%,{66 + mixed // 4096 % 12}%)"
