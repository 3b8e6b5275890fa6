"""Uses the newest asynchronous SDK of E2B for Python, unmodified. Prints one line for each case that holds."""

import asyncio
import urllib.request

import httpx
from e2b import (
    AsyncSandbox as Sandbox,
    AsyncTemplate,
    CommandExitException,
    FileNotFoundException,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    SandboxException,
    SandboxNotFoundException,
    SandboxQuery,
    TimeoutException,
)


async def fails(kind, work):
    try:
        await work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def held(name):
    print(f"held {name}", flush=True)


async def life(sandbox):
    info = await sandbox.get_info()
    assert (info.sandbox_id, info.template_id, info.state.value) == (sandbox.sandbox_id, "base", "running"), info
    pages = Sandbox.list(query=SandboxQuery(metadata={"who": "py a&b"}))
    assert sandbox.sandbox_id in [each.sandbox_id for each in await pages.next_items()]
    await sandbox.set_timeout(120)
    assert await (await Sandbox.connect(sandbox.sandbox_id, timeout=60)).is_running()
    held("life")


async def commands(sandbox):
    run = sandbox.commands.run
    ran = await run("echo out; echo err >&2; echo $GIVEN $OWN", envs={"OWN": "1"})
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("out\nyes 1\n", "err\n", 0), ran
    assert (await fails(CommandExitException, lambda: run("exit 3"))).exit_code == 3
    await fails(InvalidArgumentException, lambda: run("true", cwd="/nowhere"))
    await fails(TimeoutException, lambda: run("sleep 60", timeout=1))
    assert (await run("cat /run/e2b/.E2B_SANDBOX_ID")).stdout == sandbox.sandbox_id
    held("commands")


async def processes(sandbox):
    cat = await sandbox.commands.run("cat", background=True, stdin=True, timeout=0)
    assert cat.pid in [each.pid for each in await sandbox.commands.list()]
    again = await sandbox.commands.connect(cat.pid)
    await sandbox.commands.send_stdin(cat.pid, "hello\n")
    await sandbox.commands.close_stdin(cat.pid)
    assert (await cat.wait()).stdout == "hello\n"
    assert (await again.wait()).stdout == "hello\n"
    fed = await sandbox.commands.run("cat", background=True, stdin=True, timeout=0)
    async with sandbox.commands.stream_input(fed.pid) as handle:
        for each in range(3):
            await handle.send(f"{each}\n")
    await sandbox.commands.close_stdin(fed.pid)
    assert (await fed.wait()).stdout == "0\n1\n2\n"
    await fails(NotFoundException, lambda: sandbox.commands.stream_input(999999).close())
    sleeping = await sandbox.commands.run("exec sleep 100", background=True)
    assert await sandbox.commands.kill(sleeping.pid)
    assert not await sandbox.commands.kill(sleeping.pid)
    held("processes")


async def terminals(sandbox):
    shown = []
    size = PtySize(rows=24, cols=80)
    terminal = await sandbox.pty.create(size=size, on_data=lambda data: shown.append(data))
    await sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
    await sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
    await terminal.wait()
    assert b"30 100" in b"".join(shown), shown
    left = await sandbox.pty.create(size=size, on_data=lambda data: None)
    await left.disconnect()
    shown = []
    again = await sandbox.pty.connect(left.pid, on_data=lambda data: shown.append(data))
    await sandbox.pty.send_stdin(left.pid, b"echo back-$((6 * 7)); exit\n")
    await again.wait()
    assert b"back-42" in b"".join(shown), shown
    killed = await sandbox.pty.create(size=size, on_data=lambda data: None)
    assert await sandbox.pty.kill(killed.pid) and not await sandbox.pty.kill(killed.pid)
    held("terminals")


async def files(sandbox):
    files = sandbox.files
    assert (await files.write("a/b c+d.txt", "h\u00e4llo")).path == "/home/user/a/b c+d.txt"
    assert await files.read("a/b c+d.txt") == "h\u00e4llo"
    assert bytes(await files.read("a/b c+d.txt", format="bytes")) == "h\u00e4llo".encode()
    many = await files.write_files([{"path": "m/1", "data": "1"}, {"path": "m/2", "data": b"22"}])
    assert [each.name for each in many] == ["1", "2"]
    await files.write("empty", "")
    assert await files.read("empty") == ""
    assert (await files.rename("m/1", "n/o/one")).path == "/home/user/n/o/one"
    assert await files.make_dir("made/deep") and not await files.make_dir("made/deep")
    assert [each.path for each in await files.list("made", depth=2)] == ["/home/user/made/deep"]
    await files.remove("made")
    assert not await files.exists("made") and await files.exists("n/o/one")
    await fails(FileNotFoundException, lambda: files.read("nothing"))
    assert (await files.write("marked", "x", metadata={"source": "a b"})).metadata == {"source": "a b"}
    assert (await files.get_info("marked")).metadata == {"source": "a b"}
    held("files")
    git = sandbox.git
    await git.init("/tmp/repository", initial_branch="main")
    await files.write("/tmp/repository/note", "text")
    assert [each.name for each in (await git.status("/tmp/repository")).file_status] == ["note"]
    await git.add("/tmp/repository")
    await git.commit("/tmp/repository", "first", author_name="A", author_email="a@example.com")
    assert (await git.branches("/tmp/repository")).current_branch == "main"
    held("git")
    assert await AsyncTemplate.exists("base") and not await AsyncTemplate.exists("no-such")
    assert await sandbox.list_snapshots().next_items() == []
    held("templates")
    seen = asyncio.Event()
    await files.make_dir("seen")
    watch = await files.watch_dir("seen", on_event=lambda event: seen.set() if event.type.value == "write" else None)
    await files.write("seen/a", "1")
    await asyncio.wait_for(seen.wait(), 30)
    await watch.stop()
    held("watches")


async def main():
    sandbox = await Sandbox.create(metadata={"who": "py a&b"}, envs={"GIVEN": "yes"})
    await life(sandbox)
    await commands(sandbox)
    await processes(sandbox)
    await terminals(sandbox)
    await files(sandbox)
    url = sandbox.download_url("a/b c+d.txt", use_signature_expiration=60)
    assert urllib.request.urlopen(url).read().decode() == "h\u00e4llo"
    async with httpx.AsyncClient(trust_env=False) as client:
        sent = await client.post(sandbox.upload_url("sent"), files={"file": b"sent"})
    assert (sent.status_code, await sandbox.files.read("sent")) == (200, "sent"), sent.text
    held("links")
    assert (await sandbox.get_metrics())[0].cpu_count == 1
    held("metrics")
    narrow = await Sandbox.create(network={"deny_out": ["0.0.0.0/0"], "allow_out": ["192.0.2.1"]})
    await narrow.update_network({"deny_out": ["192.0.2.0/24"]})
    await narrow.kill()
    await fails(SandboxException, lambda: sandbox.update_network({"deny_out": ["192.0.2.1"]}))
    held("networks")
    await fails(SandboxException, lambda: Sandbox.create("no-such"))
    assert "not supported" in str(await fails(SandboxException, sandbox.pause))
    held("refusals")
    other = await Sandbox.create()
    running = await other.commands.run("sleep 100", background=True)
    assert await other.kill() and not await other.kill() and not await other.is_running()
    await fails(TimeoutException, running.wait)
    await fails(SandboxNotFoundException, lambda: Sandbox.connect(other.sandbox_id))
    held("ends")
    assert await sandbox.kill()


asyncio.run(main())
