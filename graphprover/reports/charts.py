"""Interactive charts drawn by bokeh: time lines of boxes in lanes, and memory over time.

A chart is given as boxes or lines; bokeh's model is internal. Its colours are the page's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphprover.runtime.extras import install
from graphprover.runtime.files import FileError

if TYPE_CHECKING:
    from bokeh.models import Plot

ROW = 28  # pixels: height of a lane
MOST_HEIGHT = 1600  # pixels: height of a chart

# Of rounds, by their column in the plan's picture; trees and the transcript are in several. The same in light and dark
# mode: they contrast with both backgrounds.
COLOURS = {
    "traces": "#7b838d",
    "commit": "#2a78c4",
    "tree": "#5b67d1",
    "transcript": "#b84a55",
    "lookups": "#bf6415",
    "quotient": "#1f8a52",
    "openings": "#9760cc",
    "DEEP": "#cc4c8c",
    "FRI": "#168a9b",
    "queries": "#937030",
}
OTHER = "#8a8f98"  # of anything outside of the rounds

# Inside of bokeh's canvas and around it.
_STYLE = """
:host{
--bk-background-fill-color:var(--paper);--bk-border-fill-color:var(--paper);--bk-outline-line-color:var(--line);
--bk-axis-line-color:var(--line);--bk-major-tick-line-color:var(--line);--bk-minor-tick-line-color:transparent;
--bk-major-label-text-color:var(--ink);--bk-axis-label-text-color:var(--faint);--bk-grid-line-color:var(--line);
--bk-label-text-color:var(--ink);--bk-title-text-color:var(--ink);
}
"""


@dataclass(frozen=True)
class Box:
    """A span of time in a lane."""

    lane: str
    start: float  # seconds
    end: float
    colour: str
    title: str  # tooltip, in lines
    faint: bool = False


@dataclass(frozen=True)
class Line:
    """A quantity over time, constant until the next point; a single value holds for all times."""

    name: str
    points: Sequence[tuple[float, float]]  # seconds, and the value
    colour: str
    dashed: bool = False


def time_line(lanes: Sequence[str], boxes: Sequence[Box], span: tuple[float, float], end: float) -> "Plot":
    """Return a chart of boxes in lanes from 0 s to ``end``, showing ``span`` at first."""
    _needed()
    from bokeh.models import ColumnDataSource, FactorRange, HoverTool
    from bokeh.plotting import figure

    plot = figure(
        height=min(80 + ROW * len(lanes), MOST_HEIGHT),
        y_range=FactorRange(*reversed(lanes), range_padding=0.2, range_padding_units="absolute"),
        **_common(span, end),
    )
    glyphs = []
    for faint in (True, False):
        chosen = [box for box in boxes if box.faint == faint]
        data = {
            "lane": [box.lane for box in chosen],
            "left": [box.start for box in chosen],
            "right": [box.end for box in chosen],
            "colour": [box.colour for box in chosen],
            "title": [box.title for box in chosen],
        }
        glyphs.append(
            plot.hbar(
                y="lane",
                left="left",
                right="right",
                height=0.8,
                fill_color="colour",
                fill_alpha=0.25 if faint else 1,
                line_color="colour",
                line_width=0.5,
                source=ColumnDataSource(data),
            )
        )
    text = '<div style="white-space:pre-line;max-width:32em;font:12px system-ui,sans-serif">@title</div>'
    plot.add_tools(HoverTool(renderers=glyphs, tooltips=text, point_policy="follow_mouse"))
    plot.ygrid.visible = False
    return _dressed(plot)


def lines(found: Sequence[Line], unit: str, beside: "Plot") -> "Plot":
    """Return a chart of lines that shares the time axis and zoom of another chart; ``unit`` is the values' unit."""
    _needed()
    from bokeh.models import NumeralTickFormatter
    from bokeh.plotting import figure

    common = _common((0, 1), 1) | {"x_range": beside.x_range}
    top = max((value for line in found for _, value in line.points), default=0)
    plot = figure(height=260, y_range=(0, 1.05 * top or 1), **common)
    end = beside.x_range.bounds[1]
    for line in found:
        times, values = zip(*line.points, strict=True) if line.points else ((), ())
        if len(times) == 1:
            times, values = (0, end), values * 2
        dash = "dashed" if line.dashed else "solid"
        style = {"line_color": line.colour, "line_width": 2, "line_dash": dash}
        plot.step(times, values, mode="after", **style)
    plot.yaxis.axis_label, plot.toolbar_location = unit, None  # the other chart's tools move both
    plot.yaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    return _dressed(plot)


def embedded(plots: Mapping[str, "Plot"]) -> tuple[str, dict[str, str]]:
    """Return the scripts of a page with these charts, bokeh's own among them, and the HTML of each chart."""
    from bokeh.document import Document
    from bokeh.embed import components
    from bokeh.io.doc import patch_curdoc
    from bokeh.resources import Resources

    library = Resources(mode="inline", components=["bokeh"], log_level="error").render_js()
    own = Document()
    with patch_curdoc(own):  # else it is the document of an ended dashboard, after a local cluster in this process
        script, divs = components(plots)
    # Charts are drawn on canvases, which show another theme only after a redraw.
    again = "matchMedia('(prefers-color-scheme:dark)').addEventListener('change',()=>location.reload());"
    return f"{library}\n{script}\n<script>{again}</script>", divs


def _needed() -> None:
    """Raise FileError without bokeh."""
    try:
        import bokeh.plotting  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "bokeh":
            raise
        raise FileError(f"a report as a page needs bokeh: {install('prover')}") from None


def _common(span: tuple[float, float], end: float) -> dict[str, Any]:
    """Return the common properties of charts: as wide as the page, with tools that do not capture the mouse wheel."""
    from bokeh.models import BoxZoomTool, InlineStyleSheet, PanTool, Range1d, ResetTool, WheelZoomTool

    wheel, drag = WheelZoomTool(dimensions="width", modifiers="ctrl"), BoxZoomTool(dimensions="width")
    return {
        "x_range": Range1d(*span, bounds=(0, end)),
        "sizing_mode": "stretch_width",
        "min_width": 320,
        "tools": [drag, wheel, PanTool(dimensions="width"), ResetTool()],
        "active_drag": drag,
        "active_scroll": wheel,
        "toolbar_location": "above",
        "x_axis_label": "seconds",
        "stylesheets": [InlineStyleSheet(css=_STYLE)],
    }


def _dressed(plot: "Plot") -> "Plot":
    from bokeh.models import InlineStyleSheet

    plot.toolbar.logo = None
    plot.grid.grid_line_alpha = 0.5
    for axis in plot.axis:
        axis.stylesheets = [InlineStyleSheet(css=_STYLE)]
    return plot
