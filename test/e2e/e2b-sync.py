"""Uses the newest synchronous SDK of E2B for Python, unmodified. Prints one line for each case that holds."""

import urllib.request

import httpx
from e2b import (
    CommandExitException,
    FileNotFoundException,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    Sandbox,
    SandboxException,
    SandboxNotFoundException,
    SandboxQuery,
    Template,
    TimeoutException,
)


def fails(kind, work):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def held(name):
    print(f"held {name}", flush=True)


sandbox = Sandbox.create(metadata={"who": "py a&b"}, envs={"GIVEN": "yes"})
info = sandbox.get_info()
assert (info.sandbox_id, info.template_id, info.state.value) == (sandbox.sandbox_id, "base", "running"), info
pages = Sandbox.list(query=SandboxQuery(metadata={"who": "py a&b"}))
assert sandbox.sandbox_id in [each.sandbox_id for each in pages.next_items()]
sandbox.set_timeout(120)
assert Sandbox.connect(sandbox.sandbox_id, timeout=60).is_running()
held("life")

ran = sandbox.commands.run("echo out; echo err >&2; echo $GIVEN $OWN", envs={"OWN": "1"})
assert (ran.stdout, ran.stderr, ran.exit_code) == ("out\nyes 1\n", "err\n", 0), ran
assert fails(CommandExitException, lambda: sandbox.commands.run("exit 3")).exit_code == 3
fails(InvalidArgumentException, lambda: sandbox.commands.run("true", cwd="/nowhere"))
fails(TimeoutException, lambda: sandbox.commands.run("sleep 60", timeout=1))
assert sandbox.commands.run("cat /run/e2b/.E2B_SANDBOX_ID").stdout == sandbox.sandbox_id
held("commands")

cat = sandbox.commands.run("cat", background=True, stdin=True, timeout=0)
assert cat.pid in [each.pid for each in sandbox.commands.list()]
again = sandbox.commands.connect(cat.pid)
sandbox.commands.send_stdin(cat.pid, "hello\n")
sandbox.commands.close_stdin(cat.pid)
assert cat.wait().stdout == "hello\n"
assert again.wait().stdout == "hello\n"
fed = sandbox.commands.run("cat", background=True, stdin=True, timeout=0)
sandbox.commands.stream_input(fed.pid, (f"{each}\n" for each in range(3)))
sandbox.commands.close_stdin(fed.pid)
assert fed.wait().stdout == "0\n1\n2\n"
fails(NotFoundException, lambda: sandbox.commands.stream_input(999999, ["x"]))
sleeping = sandbox.commands.run("exec sleep 100", background=True)
assert sandbox.commands.kill(sleeping.pid) and not sandbox.commands.kill(sleeping.pid)
held("processes")

terminal = sandbox.pty.create(size=PtySize(rows=24, cols=80))
sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
shown = []
terminal.wait(on_pty=lambda data: shown.append(data))
assert b"30 100" in b"".join(shown), shown
left = sandbox.pty.create(size=PtySize(rows=24, cols=80))
left.disconnect()
again = sandbox.pty.connect(left.pid)
sandbox.pty.send_stdin(left.pid, b"echo back-$((6 * 7)); exit\n")
shown = []
again.wait(on_pty=lambda data: shown.append(data))
assert b"back-42" in b"".join(shown), shown
killed = sandbox.pty.create(size=PtySize(rows=24, cols=80))
assert sandbox.pty.kill(killed.pid) and not sandbox.pty.kill(killed.pid)
held("terminals")

assert sandbox.files.write("a/b c+d.txt", "h\u00e4llo").path == "/home/user/a/b c+d.txt"
assert sandbox.files.read("a/b c+d.txt") == "h\u00e4llo"
assert bytes(sandbox.files.read("a/b c+d.txt", format="bytes")) == "h\u00e4llo".encode()
assert b"".join(sandbox.files.read("a/b c+d.txt", format="stream")) == "h\u00e4llo".encode()
many = sandbox.files.write_files([{"path": "m/1", "data": "1"}, {"path": "m/2", "data": b"22"}])
assert [each.name for each in many] == ["1", "2"]
sandbox.files.write("empty", "")
assert sandbox.files.read("empty") == ""
assert sandbox.files.rename("m/1", "n/o/one").path == "/home/user/n/o/one"
assert sandbox.files.make_dir("made/deep") and not sandbox.files.make_dir("made/deep")
assert [each.path for each in sandbox.files.list("made", depth=2)] == ["/home/user/made/deep"]
sandbox.files.remove("made")
assert not sandbox.files.exists("made") and sandbox.files.exists("n/o/one")
fails(FileNotFoundException, lambda: sandbox.files.read("nothing"))
assert sandbox.files.write("marked", "x", metadata={"source": "a b"}).metadata == {"source": "a b"}
assert sandbox.files.get_info("marked").metadata == {"source": "a b"}
held("files")

sandbox.git.init("/tmp/repository", initial_branch="main")
sandbox.files.write("/tmp/repository/note", "text")
assert [each.name for each in sandbox.git.status("/tmp/repository").file_status] == ["note"]
sandbox.git.add("/tmp/repository")
sandbox.git.commit("/tmp/repository", "first", author_name="A", author_email="a@example.com")
assert sandbox.git.branches("/tmp/repository").current_branch == "main"
held("git")

assert Template.exists("base") and not Template.exists("no-such")
assert sandbox.list_snapshots().next_items() == []
held("templates")

sandbox.files.make_dir("seen")
watch = sandbox.files.watch_dir("seen")
sandbox.files.write("seen/a", "1")
assert ("write", "a") in [(each.type.value, each.name) for each in watch.get_new_events()]
watch.stop()
held("watches")

url = sandbox.download_url("a/b c+d.txt", use_signature_expiration=60)
assert urllib.request.urlopen(url).read().decode() == "h\u00e4llo"
sent = httpx.post(sandbox.upload_url("sent"), files={"file": b"sent"}, trust_env=False)
assert (sent.status_code, sandbox.files.read("sent")) == (200, "sent"), sent.text
held("links")

assert sandbox.get_metrics()[0].cpu_count == 1
held("metrics")

narrow = Sandbox.create(network={"deny_out": ["0.0.0.0/0"], "allow_out": ["192.0.2.1"]})
narrow.update_network({"deny_out": ["192.0.2.0/24"]})
narrow.kill()
fails(SandboxException, lambda: sandbox.update_network({"deny_out": ["192.0.2.1"]}))
held("networks")

fails(SandboxException, lambda: Sandbox.create("no-such"))
assert "not supported" in str(fails(SandboxException, sandbox.pause))
held("refusals")

other = Sandbox.create()
running = other.commands.run("sleep 100", background=True)
assert other.kill() and not other.kill() and not other.is_running()
fails(TimeoutException, running.wait)
fails(SandboxNotFoundException, lambda: Sandbox.connect(other.sandbox_id))
held("ends")
assert sandbox.kill()
