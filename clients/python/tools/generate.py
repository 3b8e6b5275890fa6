"""Writes what the client has from elsewhere: shapes and routes from docs/openapi.json, and the plain client from the async one.

`generate.py` writes the files; `generate.py --check` fails when one differs from what it would write.
"""

import ast
import io
import json
import keyword
import pathlib
import sys
import tokenize
from typing import Any, Optional

HERE = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = HERE / "src" / "svc_sandbox"
API = json.loads((HERE.parent.parent / "docs" / "openapi.json").read_text())
SCHEMAS: dict[str, Any] = API["components"]["schemas"]
NOTE = "# Written by tools/generate.py from docs/openapi.json. Do not edit.\n"

Schema = dict[str, Any]


class Models:
    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.names: set[str] = set()

    def type_of(self, schema: Schema, name: str) -> str:
        if "$ref" in schema:
            target = str(schema["$ref"]).rsplit("/", 1)[1]
            return self.declare(target) if is_shape(SCHEMAS[target]) else self.type_of(SCHEMAS[target], target)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        if "anyOf" in schema and "properties" not in schema:
            parts = [self.type_of(one, f"{name}{n + 1}") for n, one in enumerate(schema["anyOf"])]
            return f"Union[{', '.join(dict.fromkeys(parts))}]"
        kind = schema.get("type")
        if kind == "array":
            return f"List[{self.type_of(schema.get('items', {}), name + 'Item')}]"
        if kind == "object":
            if "properties" in schema:
                self.write(name, schema)
                return name
            values = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
            return f"Dict[str, {self.type_of(values, name + 'Value') if isinstance(values, dict) else 'Any'}]"
        plain = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
        return plain.get(str(kind), "Any")

    def declare(self, name: str) -> str:
        if name not in self.names:
            schema = SCHEMAS[name]
            if "properties" in schema:
                self.write(name, schema)
            else:
                self.names.add(name)
                self.blocks.append(f"{name} = {self.type_of(schema, name + 'Of')}")
        return name

    def write(self, name: str, schema: Schema) -> None:
        if name in self.names:
            return
        self.names.add(name)
        needed = schema.get("required", [])
        lines: list[str] = []
        awkward = any(keyword.iskeyword(field) for field in schema["properties"])
        for field, shape in schema["properties"].items():
            written = self.type_of(shape, name + "".join(part.capitalize() for part in field.split("_")))
            typed = written if field in needed else f"NotRequired[{written}]"
            note = f"    # {shape['description']}\n" if "description" in shape else ""
            lines.append(f"{note}    {field!r}: {typed}," if awkward else f"{note}    {field}: {typed}")
        about = schema.get("description")
        comment = f"# {about}\n" if about else ""
        if awkward:
            self.blocks.append(comment + f'{name} = TypedDict("{name}", {{\n' + "\n".join(lines) + "\n})")
        else:
            self.blocks.append(comment + f"class {name}(TypedDict):\n" + "\n".join(lines or ["    pass"]))


def is_shape(schema: Schema) -> bool:
    return schema.get("type") in ("object", "array") or "anyOf" in schema


def operations() -> dict[str, tuple[str, str, Schema]]:
    found: dict[str, tuple[str, str, Schema]] = {}
    for path, methods in API["paths"].items():
        for method, operation in methods.items():
            if "operationId" in operation:
                found[operation["operationId"]] = (method.upper(), path, operation)
    return found


def models() -> str:
    made = Models()
    for name in sorted(SCHEMAS):
        if is_shape(SCHEMAS[name]):
            made.declare(name)
    for name, (_, _, operation) in operations().items():
        fields = {one["name"]: one for one in operation.get("parameters", []) if one["in"] == "query"}
        if fields:
            shape = {
                field: {
                    **one["schema"],
                    **({"description": one["description"]} if "description" in one else {}),
                }
                for field, one in fields.items()
            }
            needed = [field for field, one in fields.items() if one.get("required")]
            made.write(f"{name[0].upper()}{name[1:]}Query", {"properties": shape, "required": needed})
    codes = SCHEMAS["Error"]["properties"]["code"]["enum"]
    head = (
        "import sys\nfrom typing import Any, Dict, List, Literal, TypedDict, Union\n\n"
        "if sys.version_info >= (3, 12):\n    from typing import NotRequired\n"
        "else:\n    from typing_extensions import NotRequired\n\n"
    )
    head += f"ErrorCode = Literal[{', '.join(repr(code) for code in codes)}]\n\n\n"
    return head + "\n\n\n".join(made.blocks) + "\n"


def routes() -> str:
    rows = "".join(f'    "{name}": ("{method}", "{path}"),\n' for name, (method, path, _) in operations().items())
    return (
        f'"""Where each operation lies."""\n\n{NOTE}\nfrom typing import Final\n\n'
        f"ROUTES: Final[dict[str, tuple[str, str]]] = {{\n{rows}}}\n"
    )


WORDS = {
    "AsyncClient": "Client",
    "AsyncSandbox": "Sandbox",
    "AsyncPart": "Part",
    "AsyncIterator": "Iterator",
    "AsyncIterable": "Iterable",
    "AsyncGenerator": "Generator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "aread": "read",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aiter_raw": "iter_raw",
    "aiter_lines": "iter_lines",
    "asynccontextmanager": "contextmanager",
    "AsyncContextManager": "ContextManager",
}
#: After the words.
PHRASES = (
    ("Generator[Iterator[bytes], None]", "Generator[Iterator[bytes], None, None]"),
    ("asyncio.sleep", "time.sleep"),
    ("import asyncio\n", ""),
    ("Callable[[], Awaitable[httpx.Response]]", "Callable[[], httpx.Response]"),
    ("Iterator, Awaitable, Callable", "Iterator, Callable"),
    ("programs that wait with `await`. The plain one is written from it.", "plain programs."),
)


#: Parts whose calls about one sandbox are also on its object, without the id.
BOUND = {"_files.py": ["AsyncFiles"], "_parts.py": ["AsyncExecs", "AsyncEgress"]}
BOUND_HEAD = """from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import AsyncContextManager, List, Optional

from .. import models as m
from .._options import ExecOptions
from ._call import Content
from ._files import AsyncFiles
from ._parts import AsyncEgress, AsyncExecs

if sys.version_info >= (3, 12):
    from typing import Unpack
else:
    from typing_extensions import Unpack
"""


def bound() -> str:
    """Classes for the object of a sandbox: the methods of parts whose first argument is `id`, without it."""
    classes = []
    for name, parts in BOUND.items():
        tree = ast.parse((PACKAGE / "_async" / name).read_text())
        for part in tree.body:
            if isinstance(part, ast.ClassDef) and part.name in parts:
                classes.append(bound_class(part))
    return f'"""The calls of an object of a sandbox."""\n\n{BOUND_HEAD}\n\n' + "\n\n\n".join(classes) + "\n"


def bound_class(part: ast.ClassDef) -> str:
    methods = [
        bound_method(one)
        for one in part.body
        if isinstance(one, ast.AsyncFunctionDef) and len(one.args.args) > 1 and one.args.args[1].arg == "id"
    ]
    noun = part.name.removeprefix("Async").lower()
    return (
        f"class AsyncSandbox{part.name.removeprefix('Async')}:\n"
        f'    """`client.{noun}` for one sandbox."""\n\n'
        f"    def __init__(self, part: {part.name}, id: str) -> None:\n"
        "        self._part = part\n        self._id = id\n\n" + "\n\n".join(methods)
    )


def bound_method(method: ast.AsyncFunctionDef) -> str:
    given = method.args
    plain_args = given.args[2:]
    defaults = [None] * (len(plain_args) - len(given.defaults)) + [ast.unparse(one) for one in given.defaults]
    signature = ["self"]
    call = ["self._id"]
    for one, default in zip(plain_args, defaults):
        signature.append(argument(one, default))
        call.append(one.arg)
    if given.kwonlyargs:
        signature.append("*")
    for one, value in zip(given.kwonlyargs, given.kw_defaults):
        signature.append(argument(one, value and ast.unparse(value)))
        call.append(f"{one.arg}={one.arg}")
    if given.kwarg:
        signature.append(f"**{argument(given.kwarg, None)}")
        call.append(f"**{given.kwarg.arg}")
    returns = ast.unparse(method.returns) if method.returns else "None"
    is_context = bool(method.decorator_list)
    if is_context:
        returns = returns.replace("AsyncGenerator[", "AsyncContextManager[").replace(", None]", "]")
    awaits = not is_context and not returns.startswith("AsyncIterator")
    lines = [f"    {'async ' if awaits else ''}def {method.name}(", *exploded(signature), f"    ) -> {returns}:"]
    note = ast.get_docstring(method)
    if note:
        lines.append(f'        """{note.splitlines()[0]}"""')
    lines.append(f"        return {'await ' if awaits else ''}self._part.{method.name}(")
    lines += [f"    {line}" for line in exploded(call)]
    return "\n".join([*lines, "        )"])


def argument(one: ast.arg, default: Optional[str]) -> str:
    text = f"{one.arg}: {ast.unparse(one.annotation)}" if one.annotation else one.arg
    return text if default is None else f"{text} = {default}".replace("'", '"')


def exploded(parts: list[str]) -> list[str]:
    return [f"        {part}," for part in parts]


def plain(source: str) -> str:
    """`source` without `async` and `await`, with the names of the plain world."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    text = source
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            text = text[:begin] + text[end + 1 :]
        elif token.type == tokenize.NAME:
            word = token.string
            text = text[:begin] + WORDS.get(word, word.removeprefix("Async")) + text[end:]
    for before, after in PHRASES:
        text = text.replace(before, after)
    return text


def files() -> dict[pathlib.Path, str]:
    made = {PACKAGE / "models.py": models(), PACKAGE / "_routes.py": routes()}
    made[PACKAGE / "_async" / "_bound.py"] = "# Written by tools/generate.py from the parts. Do not edit.\n" + bound()
    for source in sorted({*(PACKAGE / "_async").glob("*.py"), PACKAGE / "_async" / "_bound.py"}):
        note = "# Written by tools/generate.py from _async. Do not edit.\n"
        made[PACKAGE / "_sync" / source.name] = note + plain(made.get(source) or source.read_text())
    return made


def main() -> int:
    stale = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(HERE)} is not current. Run python3 clients/python/tools/generate.py.")
        return 1 if stale else 0
    for path, text in files().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
