"""Runs code with the newest SDKs of E2B for Python, unmodified: synchronous, then asynchronous. Prints a line for each case."""

import asyncio
import inspect
import os
import sys

from e2b import NotFoundException, TimeoutException
from e2b_code_interpreter import AsyncSandbox, Sandbox


async def of(value):
    """The value of a call of either kind."""
    return await value if inspect.isawaitable(value) else value


async def fails(kind, work):
    try:
        await of(work())
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


async def cases(name, make):
    sandbox = await of(make(envs={"GIVEN": "yes"}))

    def run(code, **options):
        return of(sandbox.run_code(code, **options))

    lines = []
    first = await run("import os\nx = 1\nprint(os.environ['GIVEN'])\nx", on_stdout=lambda line: lines.append(line.line))
    assert (first.text, "".join(lines)) == ("1", "yes\n"), first
    assert (await run("x + 1")).text == "2"
    assert (await run("1 / 0")).error.name == "ZeroDivisionError"
    assert (await run("os.environ['OWN']", envs={"OWN": "a"})).text == "a"
    # A kernel may send the text of one print in parts.
    assert "".join((await run("print('a\\u2028b')")).logs.stdout) == "a\u2028b\n"
    print(name, "values", flush=True)

    shown = await run("import matplotlib.pyplot as plt\nplt.pie([1, 3], labels=['p', 'q'])\nplt.show()")
    chart = shown.results[0].chart
    assert shown.results[0].png and chart.type.value == "pie", shown
    assert [(part.label, part.angle) for part in chart.elements] == [("p", 90), ("q", 270)], chart
    line = (await run("plt.figure()\nplt.plot([1, 2], [3, 4])\nplt.show()")).results[0].chart
    # JSON of JavaScript does not tell them from whole numbers.
    assert all(isinstance(each, float) for each in [*line.x_ticks, *line.elements[0].points[0]]), line.x_ticks
    table = await run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    assert table.results[0].data == {"a": [1, 2]}, table
    print(name, "results", flush=True)

    made = await of(sandbox.create_code_context(cwd="/home/user/not/yet"))
    assert (await run("import os; os.getcwd()", context=made)).text == "/home/user/not/yet"
    context = await of(sandbox.create_code_context(cwd="/tmp"))
    assert (await run("import os; os.getcwd()", context=context)).text == "/tmp"
    await of(sandbox.restart_code_context(context))
    assert (await run("os", context=context)).error.name == "NameError"
    assert context.id in [each.id for each in await of(sandbox.list_code_contexts())]
    await of(sandbox.remove_code_context(context))
    await fails(NotFoundException, lambda: sandbox.run_code("1", context=context))
    print(name, "contexts", flush=True)

    await fails(TimeoutException, lambda: sandbox.run_code("while True: pass", timeout=1))
    assert (await run("x")).text == "1"
    await of(sandbox.kill())
    await fails(TimeoutException, lambda: sandbox.run_code("1"))
    print(name, "interrupts", flush=True)


async def both():
    await cases("sync", Sandbox.create)
    await cases("async", AsyncSandbox.create)


asyncio.run(both())
# All cases have passed by here. The interpreter sometimes aborts while it ends, in a library of the SDK.
sys.stdout.flush()
os._exit(0)
