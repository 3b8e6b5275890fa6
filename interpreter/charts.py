"""What a figure of matplotlib shows, as data."""

import math
import re

UNIT = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$")


def chart_of(figure):
    """A chart for one pair of axes, a superchart for several; None for a figure without any content."""
    charts = [chart for chart in map(axes_chart, figure.axes) if chart]
    if not charts:
        return None
    if len(charts) == 1:
        return charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else None
    return {"type": "superchart", "title": title or None, "elements": charts}


def axes_chart(axes):
    from matplotlib.text import Text

    content = [child for child in axes.get_children() if not is_frame(child, axes) and not isinstance(child, Text)]
    drawn = [child for child in content if not is_grid_line(child)]
    if not drawn:
        return None
    chart = {"type": "unknown", "title": axes.get_title() or None, "elements": []}
    for kind, fits, describe in KINDS:
        if fits(axes, drawn):
            chart["type"] = kind
            chart.update(describe(axes, content if kind == "box_and_whisker" else drawn))
            return chart
    return chart


def is_frame(child, axes):
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend
    from matplotlib.spines import Spine

    return isinstance(child, (Axis, Spine, Legend)) or child is axes.patch


def is_grid_line(child):
    from matplotlib.lines import Line2D

    if not isinstance(child, Line2D):
        return False
    xs, ys = list(child.get_xdata()), list(child.get_ydata())
    return len(xs) == 2 and len(ys) == 2 and (str(xs[0]) == str(xs[1]) or str(ys[0]) == str(ys[1]))


def all_are(names):
    def fits(_axes, drawn):
        return all(any(base.__name__ in names for base in type(child).__mro__) for child in drawn)

    return fits


def is_box_plot(axes, drawn):
    has_boxes = any(type(child).__name__ == "PathPatch" for child in drawn)
    return has_boxes and all_are({"PathPatch", "Line2D"})(axes, drawn)


def lines(axes, drawn):
    elements = []
    for at, line in enumerate(drawn):
        label = str(line.get_label())
        name = f"Line {at}" if label.startswith("_child") else label
        elements.append({"label": name, "points": points(axes, zip(line.get_xdata(), line.get_ydata()))})
    return {**both_axes(axes), "elements": elements}


def dots(axes, drawn):
    elements = []
    for at, group in enumerate(drawn):
        label = str(group.get_label())
        name = f"Group {at}" if label.startswith("_child") else label
        elements.append({"label": name, "points": points(axes, group.get_offsets().tolist())})
    return {**both_axes(axes), "elements": elements}


def bars(axes, drawn):
    from matplotlib.container import BarContainer

    elements = []
    for at, container in enumerate(c for c in axes.containers if isinstance(c, BarContainer)):
        label = str(container.get_label())
        group = f"Group {at}" if label.startswith("_container") else label
        is_lying = container.orientation == "horizontal"
        axis = axes.yaxis if is_lying else axes.xaxis
        names = [text.get_text() for text in axis.get_ticklabels()]
        ticks = list(axis.get_ticklocs())
        for bar in container:
            middle = bar.get_y() + bar.get_height() / 2 if is_lying else bar.get_x() + bar.get_width() / 2
            near = [name for name, tick in zip(names, ticks) if abs(tick - middle) < 0.5 and name]
            value = bar.get_width() if is_lying else bar.get_height()
            elements.append({"label": near[0] if near else number(middle), "group": group, "value": number(value)})
    return {**labels(axes), "elements": elements}


def wedges(_axes, drawn):
    return {
        "elements": [
            {
                "label": str(wedge.get_label()),
                # Angles are kept as 32-bit numbers: 36 may be 36.0000005.
                "angle": abs(round(number(wedge.theta2 - wedge.theta1), 4)),
                "radius": number(wedge.r),
            }
            for wedge in drawn
        ]
    }


def boxes(axes, drawn):
    names = [text.get_text() for text in axes.get_xticklabels()]
    elements = []
    patches = [child for child in drawn if type(child).__name__ == "PathPatch"]
    strokes = [child for child in drawn if type(child).__name__ == "Line2D"]
    for at, box in enumerate(patches):
        xs, ys = zip(*box.get_path().vertices)
        left, right, low, high = min(xs), max(xs), min(ys), max(ys)
        inside = [line for line in strokes if left <= middle_of(line.get_xdata()) <= right]
        across = [line for line in inside if len(line.get_ydata()) == 2 and is_level(line.get_ydata())]
        medians = [line.get_ydata()[0] for line in across if low <= line.get_ydata()[0] <= high]
        ends = [y for line in inside if line.get_linestyle() != "None" for y in line.get_ydata()]
        outliers = [y for line in inside if line.get_linestyle() == "None" for y in line.get_ydata()]
        elements.append(
            {
                "label": names[at] if at < len(names) else str(at),
                "min": number(min([*ends, low])),
                "first_quartile": number(low),
                "median": number(medians[0] if medians else (low + high) / 2),
                "third_quartile": number(high),
                "max": number(max([*ends, high])),
                "outliers": [number(y) for y in outliers],
            }
        )
    return {**labels(axes), "elements": elements}


KINDS = [
    ("line", all_are({"Line2D"}), lines),
    ("box_and_whisker", is_box_plot, boxes),
    ("scatter", all_are({"PathCollection"}), dots),
    ("pie", all_are({"Wedge"}), wedges),
    ("bar", all_are({"Rectangle"}), bars),
]


def middle_of(values):
    values = [float(value) for value in values]
    return sum(values) / len(values) if values else math.nan


def is_level(values):
    return float(values[0]) == float(values[1])


def labels(axes):
    found = {}
    for name in ("x", "y"):
        label = getattr(axes, f"get_{name}label")() or None
        unit = UNIT.search(label) if label else None
        found[f"{name}_label"] = label
        found[f"{name}_unit"] = unit.group(1) if unit else None
    return found


def both_axes(axes):
    found = labels(axes)
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        names = [text.get_text() for text in axis.get_ticklabels()]
        ticks = list(axis.get_ticklocs())
        scale = scale_of(axis, ticks, names)
        found[f"{name}_ticks"] = [coordinate(axis, tick, scale) for tick in ticks]
        found[f"{name}_tick_labels"] = names
        found[f"{name}_scale"] = scale
    return found


def scale_of(axis, ticks, names):
    if is_of_dates(axis):
        return "datetime"
    scale = axis.get_scale()
    if scale != "linear":
        return scale
    is_counted = ticks == list(range(len(ticks))) and len(ticks) > 0
    return "categorical" if is_counted and names != [str(at) for at in range(len(ticks))] and any(names) else "linear"


def is_of_dates(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return converter is not None and "Date" in type(converter).__name__


def points(axes, pairs):
    x_dates, y_dates = is_of_dates(axes.xaxis), is_of_dates(axes.yaxis)
    return [[value_of(x, x_dates), value_of(y, y_dates)] for x, y in pairs]


def coordinate(axis, tick, scale):
    return value_of(tick, scale == "datetime")


def value_of(value, is_date):
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__module__ == "numpy" and "datetime64" in type(value).__name__:
        return str(value.astype("datetime64[s]"))
    if is_date:
        from matplotlib.dates import num2date

        return num2date(value).isoformat()
    return number(value)


def number(value):
    """A number that JSON has; other values as text."""
    try:
        found = value.item() if hasattr(value, "item") else value
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return found if math.isfinite(found) else None
        return str(found)
    except (TypeError, ValueError):
        return str(value)
