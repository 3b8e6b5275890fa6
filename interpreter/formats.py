"""How results are shown: data of tables, charts of figures, JSON of lists and dicts, images that are saved."""

import json
import os


def register(ip, charts):
    from IPython.core.formatters import BaseFormatter, catch_format_error
    from traitlets import ObjectName, Unicode

    class DataFormatter(BaseFormatter):
        format_type = Unicode("application/vnd.svc.data+json")
        print_method = ObjectName("_repr_svc_data_")
        _return_type = dict

    class ChartFormatter(BaseFormatter):
        format_type = Unicode("application/vnd.svc.chart+json")
        print_method = ObjectName("_repr_svc_chart_")
        _return_type = dict

        # Not by a registered printer: matplotlib takes those of its figures away when it starts.
        @catch_format_error
        def __call__(self, value):
            kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__]
            return charts.chart_of(value) if "matplotlib.figure.Figure" in kinds else None

    ip.run_line_magic("colors", "NoColor")
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    formatters = ip.display_formatter.formatters
    for formatter in (DataFormatter(parent=ip.display_formatter), ChartFormatter(parent=ip.display_formatter)):
        formatters[formatter.format_type] = formatter
    formatters["application/vnd.svc.data+json"].for_type_by_name("pandas.core.frame", "DataFrame", table)
    for kind in (list, dict):
        formatters["application/json"].for_type(kind, plain)
    show_saved_images()
    name_folders_as_asked()


def plain(value):
    """The value as JSON has it; None where it has none."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


def table(frame):
    """Columns by name. Times are texts."""
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if "datetime" in str(column.dtype):
            values = [None if text == "NaT" else text for text in map(iso, column)]
        else:
            values = [scalar(value) for value in column.tolist()]
        columns[str(name)] = values
    return columns


def iso(value):
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def scalar(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    plain_value = plain(value)
    return str(value) if plain_value is None else plain_value


def name_folders_as_asked():
    """os.getcwd answers as shells do: by the name in PWD, also where that is a link."""
    real = os.getcwd

    def named():
        wanted = os.environ.get("PWD", "")
        try:
            return wanted if os.path.isabs(wanted) and os.path.samefile(wanted, ".") else real()
        except OSError:
            return real()

    os.getcwd = named


def show_saved_images():
    """Images that PIL saves to a path are also shown."""
    try:
        from PIL.Image import Image
    except ImportError:
        return
    save = Image.save

    def shown(image, fp, *given, **named):
        from IPython.display import display

        save(image, fp, *given, **named)
        if isinstance(fp, str):
            display(image)

    Image.save = shown
