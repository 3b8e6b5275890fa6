"""The real svc-agent, spoken to byte by byte. AGENT names another build; run it through `make test`."""

import errno
import itertools
import os
import random
import signal
import socket
import struct
import tempfile
import threading
import time
import unittest

from host import (
    ACCEPT, ATTACH, CALL, CANCEL, CONNECT, CONSOLE, CREDIT, DATA, DEADLINE, DETACH, DIAL, EOF, EXEC, FIRST_CREDIT, GATE, KEYED, NO_END, OPEN, PART, PING, PTY, READ,
    RESIZE, SECRET, SEED, SHUTDOWN, SIGNAL, STARTED, STAT, STDIN, WRITE, Agent, Lost, Session, exec_args, frame, opening, text)


def alive(marker):
    """How many processes have this in their arguments."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                count += marker.encode() in file.read().split(b"\0")
        except OSError:
            pass
    return count


class Case(unittest.TestCase):
    stdio = False

    def setUp(self):
        self.agent = Agent(stdio=self.stdio)
        self.addCleanup(self.agent.stop)
        self.session = self.agent.session()
        self.addCleanup(self.session.close)

    def wait(self, holds, what, patience=10.0):
        end = time.monotonic() + patience
        while not holds():
            self.assertLess(time.monotonic(), end, f"waited too long for {what}")
            self.session.pump(0.02)

    def marker(self):
        return f"{random.randrange(10**6, 10**7)}.{random.randrange(10**6)}"


class Execs(Case):
    def test_exit_codes_and_output(self):
        answer = self.session.sh("echo out; echo err >&2; exit 7")
        self.assertEqual((answer.data[1], answer.data[2], answer.exit), (b"out\n", b"err\n", (7, 0, 0)))
        self.assertEqual(self.session.sh("kill -9 $$").exit, (137, 9, 0))
        self.assertEqual(self.session.run("no-such-program").exit[0], 127)
        self.assertEqual(self.session.run("/etc").exit[0], 126)
        missing = self.session.run("true", workdir="/no/such/folder")
        self.assertEqual((missing.errno, missing.started), (errno.ENOENT, None))
        self.assertNotIn("x4", {name for name, facts in self.session.execs().items() if facts[0] == 1})

    def test_what_a_child_inherits(self):
        script = (
            "ls /proc/self/fd | wc -l; cat /proc/self/oom_score_adj; grep -E '^Sig(Blk|Ign)' /proc/self/status;"
            "ps -o pid=,pgid=,sid= -p $$ | tr -s ' '; env | sort")
        lines = self.session.sh(script, env=("PATH=/usr/bin:/bin", "A=1", "HOME=/x")).out.decode().split("\n")
        # 0, 1, 2 and the folder that ls reads
        self.assertEqual(lines[0], "4")
        self.assertGreaterEqual(int(lines[1]), 500)
        self.assertEqual(lines[2].split()[1], "0" * 16)
        self.assertEqual(lines[3].split()[1], "0" * 16)
        self.assertEqual(len(set(lines[4].split())), 1)
        self.assertIn("A=1", lines)
        self.assertIn("HOME=/x", lines)

    def test_the_agent_is_closed_to_the_guest(self):
        pid = self.agent.process.pid
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
        answer = self.session.run(*drop, "sh", "-c", f"cat /proc/{pid}/maps || readlink /proc/{pid}/fd/3")
        self.assertEqual(answer.out, b"")
        self.assertNotEqual(answer.exit[0], 0)

    def test_arguments_in_parts(self):
        many = ["y" * 100000 for _ in range(15)]
        self.assertEqual(self.session.run("printf", "%s", *many).out, "".join(many).encode())

    def test_malformed_arguments_are_refused(self):
        good = exec_args("bad", ["true"])
        for payload in (good[:-1], good + b"x", good[:5], bytes([EXEC]), exec_args("", ["true"]),
                        exec_args("bad", []), exec_args("bad", ["a\0b"]), exec_args("x" * 129, ["true"])):
            self.assertEqual(self.session.finish(self.session.begin(payload)).errno, errno.EINVAL, payload)
        self.assertEqual(self.session.finish(self.session.begin(bytes([60]))).errno, errno.ENOSYS)
        huge = bytes([EXEC]) + bytes(4) + text("h") + text("") + bytes(8) + text("") + b"\xff\xff\xff\xff"
        self.assertEqual(self.session.finish(self.session.begin(huge)).errno, errno.EINVAL)

    def test_stdin(self):
        stream = self.session.begin(exec_args("in", ["cat"], flags=STDIN))
        body = os.urandom(3 << 20)
        self.session.data(stream, body)
        self.session.send(EOF, stream, b"\0")
        self.assertEqual(self.session.finish(stream).out, body)
        self.assertEqual(self.session.run("cat").out, b"")
        closed = self.session.begin(exec_args("closed", ["sh", "-c", "exec <&-; sleep 0.2; echo done"], flags=STDIN))
        self.session.data(closed, bytes(1 << 20))
        self.assertEqual(self.session.finish(closed).out, b"done\n")

    def test_fifty_at_once(self):
        streams = [self.session.begin(exec_args(f"n{i}", ["sh", "-c", f"seq 1 3000; exit {i}"])) for i in range(50)]
        expected = b"".join(b"%d\n" % n for n in range(1, 3001))
        for i, stream in enumerate(streams):
            answer = self.session.finish(stream)
            self.assertEqual((answer.out, answer.exit[0]), (expected, i))

    def test_output_waits_for_credit(self):
        stream = self.session.begin(exec_args("flood", ["head", "-c", "5000000", "/dev/zero"]), gives=False)
        answer = self.session.answers[stream]
        self.wait(lambda: len(answer.out) == FIRST_CREDIT, "the credit to be used")
        for _ in range(20):
            self.session.call(PING)
        self.assertEqual(len(answer.out), FIRST_CREDIT)
        self.session.grant(stream, 10)
        self.wait(lambda: len(answer.out) == FIRST_CREDIT + 10, "ten bytes")
        self.session.grant(stream, 10_000_000)
        self.assertEqual(len(self.session.finish(stream).out), 5_000_000)

    def test_a_busy_pipe_fills_up_before_it_is_read(self):
        # Pieces that come more slowly than the host takes them.
        script = "import os, time\nos.write(1, bytes(3 << 20))\nfor n in range(4000):\n os.write(1, bytes(100))\n end = time.monotonic() + 3e-5\n while time.monotonic() < end: pass"
        answer = self.session.run("python3", "-c", script)
        self.assertEqual(len(answer.out), (3 << 20) + 400_000)
        self.assertLess(answer.pieces, 1000)

    def test_a_quiet_pipe_is_read_at_once(self):
        script = "import os\nfor n in range(50):\n os.write(1, b'x')\n os.read(0, 1)"
        stream = self.session.begin(exec_args("talk", ["python3", "-c", script], flags=STDIN))
        answer = self.session.answers[stream]
        for said in range(1, 51):
            self.wait(lambda: len(answer.out) == said, "an answer")
            self.session.data(stream, b"y")
        self.assertEqual((self.session.finish(stream).exit[0], answer.pieces), (0, 50))

    def test_what_was_written_before_the_end_is_not_lost(self):
        stream = self.session.begin(exec_args("late", ["head", "-c", str(FIRST_CREDIT + 60000), "/dev/zero"]), gives=False)
        answer = self.session.answers[stream]
        self.wait(lambda: len(answer.out) == FIRST_CREDIT, "the credit to be used")
        pid = answer.started
        self.wait(lambda: open(f"/proc/{pid}/stat").read().split(") ")[1][0] == "Z", "its end")
        time.sleep(0.5)
        self.session.grant(stream, 1_000_000)
        self.assertEqual(len(self.session.finish(stream).out), FIRST_CREDIT + 60000)

    def test_background_processes_do_not_hold_an_exec(self):
        marker, start = self.marker(), time.monotonic()
        self.assertEqual(self.session.sh(f"sleep {marker} & echo here").out, b"here\n")
        self.assertLess(time.monotonic() - start, 1.5)
        self.assertEqual(alive(marker), 1)

    def test_timeout(self):
        start = time.monotonic()
        self.assertEqual(self.session.run("sleep", "100", timeout=100).exit, (124, 15, 1))
        self.assertLess(time.monotonic() - start, 1.5)
        self.assertEqual(self.session.sh("trap '' TERM; sleep 100", timeout=1000).exit, (124, 9, 1))

    def test_kill_takes_all_who_descend(self):
        marker = self.marker()
        script = (
            f"trap '' TERM; setsid sh -c 'sleep {marker} & sleep {marker}' & (setsid sleep {marker} &);"
            f"sleep {marker} & echo up; wait")
        stream = self.session.begin(exec_args("tree", ["sh", "-c", script]))
        self.wait(lambda: alive(marker) >= 4, "all of them")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)
        # The one that was orphaned in a session of its own before the kill is beyond it.
        self.assertLessEqual(alive(marker), 1)

    def test_kill_takes_those_who_are_just_leaving_for_sessions_of_their_own(self):
        marker = self.marker()
        script = "echo up; " + f"setsid sleep {marker} & " * 20 + "wait"
        for turn in range(8):
            stream = self.session.begin(exec_args(f"leaving{turn}", ["sh", "-c", script]))
            self.wait(lambda: self.session.answers[stream].out, "its start")
            self.session.send(CANCEL, stream)
            self.session.finish(stream)
            self.assertEqual(alive(marker), 0, turn)

    def test_kill_finds_sessions_whose_makers_are_gone(self):
        marker = self.marker()
        script = f"setsid sh -c \"trap '' TERM; sleep {marker} & echo up; wait\" & wait"
        stream = self.session.begin(exec_args("session", ["sh", "-c", script]))
        self.wait(lambda: self.session.answers[stream].out, "its start")
        self.session.send(CANCEL, stream)
        self.session.finish(stream)
        self.assertEqual(alive(marker), 0)

    def test_stopped_processes_are_killed(self):
        stream = self.session.begin(exec_args("stopped", ["sh", "-c", "echo up; kill -STOP $$"]))
        self.wait(lambda: self.session.answers[stream].out, "its start")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream, 5).errno, errno.ECANCELED)

    def test_a_new_session_ends_the_old_and_its_execs(self):
        marker, kept = self.marker(), self.marker()
        self.session.begin(exec_args("old", ["sleep", marker]))
        self.session.run("sleep", kept, name="kept", flags=DETACH)
        self.wait(lambda: alive(marker) == 1, "its start")
        other = self.agent.session()
        with self.assertRaises(Lost):
            self.session.until(lambda: False, "the end of the old one", 10)
        self.session = other
        self.addCleanup(other.close)
        self.wait(lambda: alive(marker) == 0, "its end")
        self.assertEqual(alive(kept), 1)
        self.assertEqual(other.execs()["kept"][0], 1)
        self.assertEqual(other.execs()["old"][0], 2)
        other.call(SIGNAL, text("kept") + struct.pack("<I", 9))

    def test_signals(self):
        stream = self.session.begin(exec_args("s", ["sh", "-c", "trap 'exit 5' USR1; echo up; while :; do sleep 0.02; done"]))
        self.wait(lambda: self.session.answers[stream].out, "its start")
        self.assertEqual(self.session.call(SIGNAL, text("s") + struct.pack("<I", 99)).errno, errno.EINVAL)
        self.assertEqual(self.session.call(SIGNAL, text("none") + struct.pack("<I", 9)).errno, errno.ENOENT)
        self.session.call(SIGNAL, text("s") + struct.pack("<I", signal.SIGUSR1))
        self.assertEqual(self.session.finish(stream).exit[0], 5)
        self.assertEqual(self.session.call(SIGNAL, text("s") + struct.pack("<I", 9)).errno, errno.ESRCH)

    def test_names_are_unique_while_in_use(self):
        stream = self.session.begin(exec_args("one", ["sleep", "100"]))
        self.assertEqual(self.session.run("true", name="one").errno, errno.EEXIST)
        self.session.send(CANCEL, stream)
        self.session.finish(stream)
        self.assertEqual(self.session.run("true", name="one").exit[0], 0)
        self.assertEqual(list(self.session.execs()), ["one"])

    def test_nothing_leaks_in_a_thousand(self):
        self.session.run("true")
        before = self.agent.descriptors()
        for turn in range(100):
            streams = [self.session.begin(exec_args(f"t{turn}.{i}", ["true"])) for i in range(10)]
            for stream in streams:
                self.assertEqual(self.session.finish(stream).exit[0], 0)
        self.wait(lambda: not self.agent.children(), "the last to be reaped")
        self.assertEqual(self.agent.descriptors(), before)
        self.assertEqual(len(self.session.execs()), 256)

    def test_orphans_are_reaped_while_leaders_are_held(self):
        stream = self.session.begin(exec_args("held", ["sh", "-c", "head -c 300000 /dev/zero"]), gives=False)
        self.wait(lambda: len(self.session.answers[stream].out) == FIRST_CREDIT, "a leader that is held")
        for _ in range(20):
            self.session.sh("(setsid true &)")
        self.wait(lambda: len(self.agent.children()) <= 2, "orphans to be reaped")
        self.session.send(CANCEL, stream)
        self.session.finish(stream)


class Keyed(Case):
    """Execs with a key: a repeat finds what the first one did."""

    def keyed(self, script, name="k", body="b1", flags=KEYED, **more):
        return self.session.sh(script, name=name, flags=flags, body=body, **more)

    def output(self, name="k", follow=True, session=None):
        session = session or self.session
        return session.finish(session.begin(bytes([ATTACH]) + text(name) + bytes([follow])))

    def test_a_repeat_joins_what_runs_and_finds_what_has_ended(self):
        path = os.path.join(self.agent.folder.name, "count")
        script = f"echo run >> {path}; while [ ! -e {path}.go ]; do sleep 0.02; done; echo done; exit 3"
        first = self.keyed(script)
        self.assertEqual((first.exit, first.started is None), ((-1, 0, 0), False))
        repeat = self.keyed(script)
        self.assertEqual((repeat.exit, repeat.started), ((-1, 0, 0), None))
        views = [self.session.begin(bytes([ATTACH]) + text("k") + b"\1") for _ in range(2)]
        open(path + ".go", "w").close()
        for view in map(self.session.finish, views):
            self.assertEqual((view.out, view.exit), (b"done\n", (3, 0, 0)))
        late = self.keyed(script)
        self.assertEqual((late.exit, late.started), ((3, 0, 0), None))
        self.assertEqual((self.output().data[0], self.output().out), (b"\0", b"done\n"))
        with open(path) as file:
            self.assertEqual(file.read(), "run\n")

    def test_another_body_is_refused_while_it_runs_and_afterwards(self):
        self.keyed("sleep 0.2")
        self.assertEqual(self.keyed("true", body="b2").errno, errno.EEXIST)
        self.output()
        self.assertEqual(self.keyed("true", body="b2").errno, errno.EEXIST)

    def test_it_outlives_the_session_and_keeps_its_deadline(self):
        self.keyed("echo kept; sleep 1000", timeout=700)
        self.session.close()
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.assertIsNone(self.keyed("echo kept; sleep 1000", timeout=700).started)
        view = self.output()
        self.assertEqual((view.out, view.exit), (b"kept\n", (124, 15, 1)))

    def test_what_could_not_start_is_not_kept(self):
        self.assertEqual(self.keyed("true", workdir="/no/such/folder").errno, errno.ENOENT)
        self.assertIsNotNone(self.keyed("true").started)

    def test_the_last_256_are_kept_whatever_else_ends(self):
        for number in range(257):
            self.keyed("true", name=f"k{number}")
            self.output(f"k{number}")
        for _ in range(260):
            self.session.run("true")
        self.assertEqual(self.output("k0").errno, errno.ENOENT)
        self.assertIsNone(self.keyed("true", name="k1").started)
        self.assertIsNotNone(self.keyed("true", name="k0").started)

    def test_many_at_once_are_one(self):
        opens = [self.session.begin(exec_args("k", ["sleep", "0.2"], flags=KEYED, body="b1")) for _ in range(50)]
        answers = [self.session.finish(stream) for stream in opens]
        self.assertEqual(sum(answer.started is not None for answer in answers), 1)
        self.assertEqual({answer.exit for answer in answers}, {(-1, 0, 0)})
        refused = [
            self.session.begin(exec_args("r", ["true"], flags=KEYED, workdir="/no/such/folder", body="b1"))
            for _ in range(20)]
        self.assertLessEqual({self.session.finish(stream).errno for stream in refused}, {errno.ENOENT, errno.EAGAIN})

    def test_a_view_of_what_may_never_start_is_refused(self):
        for _ in range(30):
            opened = self.session.begin(exec_args("v", ["true"], flags=DETACH, workdir="/no/such/folder"))
            view = self.session.begin(bytes([ATTACH]) + text("v") + b"\1")
            self.assertEqual(self.session.finish(view).errno, errno.ENOENT)
            self.assertEqual(self.session.finish(opened).errno, errno.ENOENT)

    def test_only_a_detached_one_writes_on_the_console(self):
        self.keyed("echo silent")
        self.output()
        self.keyed("echo spoken", name="d", flags=KEYED | DETACH)
        self.output("d")
        console = self.session.finish(self.session.begin(bytes([CONSOLE]) + struct.pack("<IB", 100, 0))).out
        self.assertIn(b"spoken", console)
        self.assertNotIn(b"silent", console)

    def test_malformed_keys(self):
        for body in (None, "", "x" * 65, "a\0b"):
            self.assertEqual(self.keyed("true", body=body).errno, errno.EINVAL, body)
        self.assertEqual(self.session.sh("true", name="n", body="b").errno, errno.EINVAL)


class Terminals(Case):
    def test_size_and_controlling_terminal(self):
        answer = self.session.sh("stty size; tty; echo x > /dev/tty; ps -o tty= -p $$", flags=PTY, rows=24, cols=80)
        lines = answer.out.decode().split("\r\n")
        self.assertEqual(lines[0], "24 80")
        self.assertEqual(lines[2], "x")
        self.assertTrue(lines[1].startswith("/dev/pts/"))
        self.assertEqual("/dev/" + lines[3].strip(), lines[1])
        self.assertEqual(answer.exit[0], 0)

    def test_resize(self):
        stream = self.session.begin(exec_args("r", ["sh", "-c", "trap 'stty size; exit' WINCH; echo up; while :; do sleep 0.02; done"],
                                              flags=PTY, rows=24, cols=80))
        self.wait(lambda: self.session.answers[stream].out, "its start")
        self.session.call(RESIZE, text("r") + struct.pack("<HH", 50, 132))
        self.assertIn(b"50 132", self.session.finish(stream).out)
        self.session.begin(exec_args("plain", ["sleep", "1"]))
        self.assertEqual(self.session.call(RESIZE, text("plain") + bytes(4)).errno, errno.EINVAL)

    def test_end_of_input(self):
        for typed in (b"line\n", b"half a line", b""):
            stream = self.session.begin(exec_args(f"eof{len(typed)}", ["cat"], flags=PTY | STDIN))
            self.session.data(stream, typed)
            self.session.send(EOF, stream, b"\0")
            answer = self.session.finish(stream, 5)
            self.assertEqual((answer.exit[0], typed.strip() in answer.out), (0, True))

    def test_a_lost_session_takes_it_away(self):
        marker = self.marker()
        self.session.begin(exec_args("t", ["sh", "-c", f"sleep {marker} & wait"], flags=PTY))
        self.wait(lambda: alive(marker) == 1, "its start")
        self.session.close()
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.wait(lambda: alive(marker) == 0, "its end")


class Detached(Case):
    def attach(self, name, follow):
        return self.session.begin(bytes([ATTACH]) + text(name) + bytes([follow]))

    def test_attach_replays_and_follows(self):
        path = os.path.join(self.agent.folder.name, "go")
        answer = self.session.sh(f"echo one; while [ ! -e {path} ]; do sleep 0.02; done; echo two >&2; exit 3", name="d", flags=DETACH)
        self.assertEqual((answer.exit[0], answer.started > 0), (-1, True))
        stream = self.attach("d", 1)
        self.wait(lambda: self.session.answers[stream].out == b"one\n", "its tail")
        self.assertEqual(self.session.finish(self.attach("d", 0)).exit[0], -1)
        open(path, "w").close()
        answer = self.session.finish(stream)
        self.assertEqual((answer.data[0], answer.data[2], answer.exit[0]), (b"\0", b"two\n", 3))
        self.assertEqual(self.session.finish(self.attach("none", 0)).errno, errno.ENOENT)

    def test_the_tail_is_bounded(self):
        self.session.sh("head -c 3000000 /dev/zero | tr '\\0' x; echo end", name="long", flags=DETACH)
        self.wait(lambda: self.session.execs()["long"][0] == 2, "its end")
        answer = self.session.finish(self.attach("long", 0))
        self.assertEqual(answer.data[0], b"\1")
        self.assertTrue(answer.out.endswith(b"xend\n"))
        self.assertGreater(len(answer.out), 900_000)
        self.assertLessEqual(len(answer.out), 1 << 20)

    def test_the_oldest_tails_go_first(self):
        for i in range(12):
            self.session.sh("head -c 1100000 /dev/zero", name=f"b{i}", flags=DETACH)
            self.wait(lambda i=i: self.session.execs()[f"b{i}"][0] == 2, "its end")
        kept = [len(self.session.finish(self.attach(f"b{i}", 0)).out) for i in range(12)]
        self.assertEqual([size > 0 for size in kept], [False] * 4 + [True] * 8)

    def test_a_slow_view_holds_nothing_up(self):
        self.session.sh("head -c 3000000 /dev/zero", name="fast", flags=DETACH)
        stream = self.session.begin(bytes([ATTACH]) + text("fast") + b"\1", gives=False)
        self.wait(lambda: self.session.execs()["fast"][0] == 2, "its end")
        self.session.answers[stream].gives = True
        self.session.grant(stream, 1 << 24)
        self.assertEqual(self.session.finish(stream).exit[0], 0)

    def test_at_most_256_run(self):
        for i in range(256):
            self.session.run("sleep", "1000", name=f"s{i}", flags=DETACH)
        self.assertEqual(self.session.run("true", name="more", flags=DETACH).errno, errno.EAGAIN)

    def test_console(self):
        self.session.sh("printf 'eins\\nzwei'; echo drei >&2", name="c", flags=DETACH)
        self.wait(lambda: self.session.execs()["c"][0] == 2, "its end")
        show = bytes([CONSOLE]) + struct.pack("<IB", 100, 0)
        lines = self.session.finish(self.session.begin(show)).out.decode().splitlines()
        for said in ("eins", "zwei", "drei"):
            [line] = [line for line in lines if line.endswith(f" c {said}")]
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ")
        last = self.session.finish(self.session.begin(bytes([CONSOLE]) + struct.pack("<IB", 1, 0)))
        self.assertEqual(last.out.decode().splitlines(), lines[-1:])


class Files(Case):
    def test_write_and_read(self):
        path, body = os.path.join(self.agent.folder.name, "f"), os.urandom(1 << 20)
        stream = self.session.begin(bytes([WRITE]) + text(path) + struct.pack("<IB", 0o600, 1))
        self.session.data(stream, body)
        self.session.send(EOF, stream, b"\0")
        self.assertEqual(self.session.finish(stream).last[1], struct.pack("<QB", len(body), 1))
        answer = self.session.finish(self.session.begin(bytes([READ]) + text(path) + struct.pack("<QQ", 5, 2**64 - 1)))
        self.assertEqual(answer.out, body[5:])
        self.assertTrue(answer.data[0].startswith(text(path)))

    def test_what_carries_much_may_have_more_under_way(self):
        def carry(name):
            stream = self.session.begin(bytes([WRITE]) + text(os.path.join(self.agent.folder.name, name)) + struct.pack("<IB", 0o600, 1))
            self.session.data(stream, bytes(2 << 20))
            return stream

        def room(stream):
            answer = self.session.answers[stream]
            return FIRST_CREDIT + answer.granted - answer.sent

        streams = [carry(f"wide-{index}") for index in range(8)]
        self.wait(lambda: all(room(stream) > 2 * FIRST_CREDIT for stream in streams), "more credit")
        self.assertLessEqual(max(map(room, streams)), 4 * FIRST_CREDIT)
        late = carry("late")
        self.wait(lambda: room(late) > FIRST_CREDIT // 2, "its credit")
        self.assertLessEqual(room(late), FIRST_CREDIT)
        self.session.send(EOF, streams[0], b"\0")
        self.assertEqual(self.session.finish(streams[0]).last[1], struct.pack("<QB", 2 << 20, 1))
        self.session.data(late, bytes(FIRST_CREDIT))
        self.wait(lambda: room(late) > 2 * FIRST_CREDIT, "the place that was left")

    def test_cut_writes_change_nothing(self):
        path = os.path.join(self.agent.folder.name, "cut")
        for how in range(6):
            stream = self.session.begin(bytes([WRITE]) + text(path) + struct.pack("<IB", 2**32 - 1, 1))
            self.session.data(stream, bytes(200_000))
            if how % 2:
                self.session.send(CANCEL, stream)
                self.session.send(EOF, stream, b"\0")
                self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)
                continue
            self.session.close()
            self.session = self.agent.session()
            self.addCleanup(self.session.close)
        self.wait(lambda: not self.agent.children(), "their ends")
        self.assertEqual([name for name in os.listdir(self.agent.folder.name) if name not in ("sock", "work")], [])

    def test_a_thousand_calls(self):
        before = self.agent.descriptors()
        streams = [self.session.begin(bytes([STAT]) + text("/" + "x" * (i % 50)), CALL) for i in range(1000)]
        answers = [self.session.finish(stream) for stream in streams]
        self.assertEqual(sum(answer.last[0] == 17 for answer in answers), 20)
        self.wait(lambda: not self.agent.children(), "the last to be reaped")
        self.assertEqual(self.agent.descriptors(), before)

    def test_cancelled_calls(self):
        streams = [self.session.begin(bytes([STAT]) + text("/etc"), CALL) for _ in range(300)]
        for stream in streams[::2]:
            self.session.send(CANCEL, stream)
        for stream in streams:
            self.session.finish(stream)
        self.session.call(PING)


class Connections(Case):
    def listen(self, serve, family=socket.AF_INET, host="127.0.0.1"):
        server = socket.socket(family)
        server.bind((host, 0))
        server.listen()
        self.addCleanup(server.close)

        def once():
            with server.accept()[0] as peer:
                serve(peer)
        thread = threading.Thread(target=once, daemon=True)
        thread.start()
        return server.getsockname()[1]

    def test_half_close_both_ways(self):
        def late(peer):
            heard = b""
            while piece := peer.recv(65536):
                heard += piece
            peer.sendall(b"heard %d" % len(heard))
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            stream = self.session.begin(bytes([CONNECT]) + struct.pack("<H", self.listen(late, family, host)))
            self.wait(lambda: self.session.answers[stream].started is not None, "the connection")
            self.session.data(stream, bytes(1 << 20))
            self.session.send(EOF, stream, b"\0")
            answer = self.session.finish(stream)
            self.assertEqual((answer.data[0], answer.eofs), (b"heard 1048576", [0]))

    def test_refused(self):
        self.assertEqual(self.session.finish(self.session.begin(bytes([CONNECT]) + struct.pack("<H", 1))).errno, errno.ECONNREFUSED)
        self.assertEqual(self.session.finish(self.session.begin(bytes([CONNECT]) + struct.pack("<H", 0))).errno, errno.EINVAL)

    def test_cancel_closes(self):
        gone = threading.Event()
        port = self.listen(lambda peer: peer.recv(1) or gone.set())
        stream = self.session.begin(bytes([CONNECT]) + struct.pack("<H", port))
        self.wait(lambda: self.session.answers[stream].started is not None, "the connection")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)
        self.assertTrue(gone.wait(5))

    def test_a_slow_peer_slows_the_host(self):
        stop = threading.Event()
        self.addCleanup(stop.set)
        stream = self.session.begin(bytes([CONNECT]) + struct.pack("<H", self.listen(lambda peer: stop.wait(20))))
        self.wait(lambda: self.session.answers[stream].started is not None, "the connection")
        answer, sent = self.session.answers[stream], 0
        while FIRST_CREDIT + answer.granted > sent:
            size = min(65536, FIRST_CREDIT + answer.granted - sent)
            self.session.send(DATA, stream, bytes(1 + size))
            sent += size
            self.session.pump(0.05)
        self.session.call(PING)
        self.assertLess(sent, 16 << 20)


class Gate(Case):
    """Connections of programs in the sandbox, which the host accepts and takes further."""

    def setUp(self):
        super().setUp()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def gate(self, port=None, ports=()):
        payload = struct.pack("<HBH", self.port if port is None else port, 3, len(ports)) + struct.pack(f"<{len(ports)}H", *ports)
        kind, result = self.session.call(GATE, payload).last
        self.assertEqual(kind, 17)
        bits, count = struct.unpack("<IH", result[:6])
        return bits, list(struct.unpack(f"<{count}H", result[6:]))

    def accept(self):
        return self.session.begin(bytes([ACCEPT]))

    def client(self, host="127.0.0.1"):
        made = socket.create_connection((host, self.port), timeout=10)
        self.addCleanup(made.close)
        return made

    def started(self, stream):
        self.wait(lambda: len(self.session.answers[stream].data[1]) == 30, "the connection")
        how, uid, name, family, address, port, peer = struct.unpack("<BIIB16sHH", self.session.answers[stream].data[1])
        self.assertEqual((how, name, port), (1, 0, self.port))
        return uid, family, address, peer

    def test_connection_names_its_origin_and_half_closes(self):
        self.assertEqual(self.gate(), (1, []))
        for host, family, address in (("127.0.0.1", 4, b"\x7f\0\0\1" + bytes(12)), ("::1", 6, bytes(15) + b"\1")):
            stream, made = self.accept(), self.client(host)
            self.assertEqual(self.started(stream), (os.getuid(), family, address, made.getsockname()[1]))
            made.sendall(b"ask")
            made.shutdown(socket.SHUT_WR)
            self.wait(lambda: self.session.answers[stream].eofs == [0], "the end of the question")
            self.session.data(stream, b"answer")
            self.session.send(EOF, stream, b"\0")
            self.assertEqual(self.session.finish(stream).data[0], b"ask")
            self.assertEqual(made.recv(100), b"answer")
            self.assertEqual(made.recv(100), b"")

    def test_first_come_first_served(self):
        self.gate()
        streams = [self.accept() for _ in range(3)]
        for stream in streams:
            made = self.client()
            self.assertEqual(self.started(stream)[3], made.getsockname()[1])
        self.assertEqual([self.session.answers[stream].started for stream in streams], [0, 0, 0])

    def test_connections_wait_for_the_next_session(self):
        self.gate()
        made = self.client()
        made.sendall(b"early")
        self.session.close()
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        stream = self.accept()
        self.started(stream)
        self.wait(lambda: self.session.answers[stream].data[0] == b"early", "the bytes")
        # The same list again keeps what waits.
        late = self.client()
        self.assertEqual(self.gate(), (1, []))
        self.assertEqual(self.started(self.accept())[3], late.getsockname()[1])

    def test_end_of_the_session_ends_connections(self):
        self.gate()
        stream, made = self.accept(), self.client()
        self.started(stream)
        self.session.close()
        self.assertEqual(made.recv(1), b"")
        self.session = self.agent.session()
        self.addCleanup(self.session.close)

    def test_cancel_resets(self):
        self.gate()
        waiting, stream, made = None, self.accept(), self.client()
        self.started(stream)
        waiting = self.accept()
        for each in (stream, waiting):
            self.session.send(CANCEL, each)
            self.assertEqual(self.session.finish(each).errno, errno.ECANCELED)
        with self.assertRaises(ConnectionResetError):
            made.recv(1)
        # A stream that was cancelled while it waited takes no connection.
        after, late = self.accept(), self.client()
        self.assertEqual(self.started(after)[3], late.getsockname()[1])

    def test_closed_and_moved(self):
        self.gate()
        self.assertEqual(self.gate(port=0), (0, []))
        with self.assertRaises(ConnectionRefusedError):
            self.client()
        self.assertEqual(self.gate(), (1, []))
        self.client()

    def test_what_cannot_be_had_is_reported(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.assertEqual(self.gate(port=port), (0, [port]))
        self.assertEqual(self.gate(ports=(80, 443)), (1, [80, 443]))

    def test_malformed(self):
        for payload in (b"", b"\0", struct.pack("<HBH", 1, 0, 1), struct.pack("<HBH", 1, 0, 65) + bytes(130), struct.pack("<HBHB", 1, 0, 0, 0)):
            self.assertEqual(self.session.call(GATE, payload).errno, errno.EINVAL)
        self.assertEqual(self.session.finish(self.session.begin(bytes([ACCEPT, 1]))).errno, errno.EINVAL)

    def test_budget_of_its_own(self):
        self.gate()
        streams = [self.accept() for _ in range(256)]
        self.assertEqual(self.session.finish(self.accept()).errno, errno.EAGAIN)
        self.assertEqual(self.session.sh("echo still").out, b"still\n")
        for stream in streams:
            self.session.send(CANCEL, stream)
        for stream in streams:
            self.session.finish(stream)
        self.assertLess(self.agent.descriptors(), 40)

    def test_programs_that_do_not_read_stop_only_their_own_stream(self):
        self.gate()
        slow, made = self.accept(), self.client()
        self.started(slow)
        answer, sent = self.session.answers[slow], 0
        while FIRST_CREDIT + answer.granted > sent:
            size = min(65536, FIRST_CREDIT + answer.granted - sent)
            self.session.send(DATA, slow, bytes(1 + size))
            sent += size
            self.session.pump(0.05)
        self.assertLess(sent, 32 << 20)
        stream, other = self.accept(), self.client()
        self.started(stream)
        self.session.data(stream, b"x")
        self.assertEqual(other.recv(1), b"x")
        made.close()


class Rules(Case):
    def assert_session_ends(self, said):
        self.session.write(said)
        self.session.write(frame(OPEN, 77, exec_args("after", ["true"], flags=DETACH)))
        self.session.open(tag=0x01020304)
        self.assertEqual(self.session.run("true").exit[0], 0)
        self.assertNotIn("after", self.session.execs())
        self.session.close()
        self.session = self.agent.session()
        self.addCleanup(self.session.close)

    def test_what_breaks_the_rules_ends_the_session(self):
        # Each has a name of its own: the one before may still be ending.
        names = (f"s{index}" for index in itertools.count())
        sleep = lambda: frame(OPEN, 1, exec_args(next(names), ["sleep", "1000"], flags=STDIN))
        for said in (
            frame(OPEN, 1, exec_args("t", ["true"]), 0x5A5A5A5B), struct.pack("<I", 8), struct.pack("<I", 65553),
            frame(200, 1), frame(17, 1), frame(1, 1), frame(16, 1), frame(0, 1),
            frame(OPEN, 0, bytes([7])), frame(OPEN, 1), frame(CALL, 1), sleep() + sleep(),
            sleep() + frame(CALL, 1, bytes([PING])), sleep() + frame(PART, 1, b"x"),
            sleep() + frame(DATA, 1, bytes(65537)) * 9,
            frame(DATA, 9, b""), frame(DATA, 9, b"\1x"), frame(EOF, 9, b"\1"), frame(EOF, 9), frame(CREDIT, 9, b"xx"),
            sleep() + frame(CREDIT, 1, b"\xff\xff\xff\xff"), frame(CANCEL, 9, b"x"),
            b"".join(frame(PART, i, b"x") for i in range(1, 18)), frame(PART, 1, bytes(65500)) * 33,
        ):
            with self.subTest(said=said[:40]):
                self.assert_session_ends(said)

    def test_what_ended_streams_are_sent_is_dropped(self):
        for kind, payload in ((DATA, b"\0late"), (EOF, b"\0"), (CREDIT, bytes(4)), (CANCEL, b"")):
            self.session.send(kind, 12345, payload)
        self.assertEqual(self.session.run("true").exit[0], 0)

    def test_limits_of_streams_and_parts(self):
        streams = [self.session.begin(bytes([CONSOLE]) + struct.pack("<IB", 0, 1)) for _ in range(256)]
        self.assertEqual(self.session.finish(self.session.begin(bytes([7]))).errno, errno.EAGAIN)
        self.session.call(PING)
        for stream in streams:
            self.session.send(CANCEL, stream)
            self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)
        for i in range(1, 17):
            self.session.send(PART, 100000 + i, b"x" * 60000)
        self.session.send(CANCEL, 100001)
        self.session.send(PART, 200000, b"x")
        self.session.call(PING)

    def test_only_the_secret_opens(self):
        hello = opening(b"n" * 16)[-34:]
        for bad in (bytes(69632) + b"\x09" * 16 + hello, b"\1" + bytes(63) + SECRET + hello, SECRET + hello,
                    bytes(64) + SECRET[:15] + b"\0" + hello, bytes(64) + b"\1" + SECRET + hello,
                    bytes(64) + SECRET + frame(CALL, 0, bytes(21)), bytes(64) + SECRET + frame(1, 0, bytes(20)),
                    bytes(64) + SECRET + frame(1, 0, bytes(21), 0x5A005A5A)):
            with self.agent.dial() as dialled:
                dialled.sendall(bad)
                dialled.settimeout(0.1)
                with self.assertRaises(TimeoutError):
                    dialled.recv(1)
        self.session.call(PING)
        with self.agent.dial() as dialled:
            dialled.sendall(os.urandom(1000).replace(b"\0", b"\1") + opening(b"n" * 16)[-16 - 34 - 64:])
            dialled.settimeout(5)
            self.assertIn(b"n" * 16, dialled.recv(1000))

    def test_hunting_is_bounded(self):
        hunters = [self.agent.dial() for _ in range(6)]
        start = time.monotonic()
        for hunter in hunters:
            self.addCleanup(hunter.close)
            hunter.settimeout(8)
        self.assertEqual([hunter.recv(1) for hunter in hunters[:2]], [b"", b""])
        self.assertLess(time.monotonic() - start, 3)
        self.session.call(PING)
        self.assertEqual([hunter.recv(1) for hunter in hunters[2:]], [b""] * 4)
        self.assertGreater(time.monotonic() - start, 4)
        self.session.call(PING)

    def test_a_host_that_never_reads_is_bounded(self):
        with self.agent.dial() as dialled:
            dialled.sendall(opening(b"n" * 16))
            dialled.settimeout(5)
            ping, said = frame(CALL, 1, bytes([PING])), 0
            try:
                for _ in range(40000):
                    dialled.sendall(ping * 50)
                    said += 50
            except OSError:
                pass
        with open(f"/proc/{self.agent.process.pid}/status", encoding="ascii") as file:
            resident = int(next(line for line in file if line.startswith("VmHWM")).split()[1])
        if "asan" not in self.agent.binary:
            self.assertLess(resident, 40_000)
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.session.call(PING)

    def test_random_frames(self):
        chance = random.Random(7)
        for _ in range(150):
            said = b""
            for _ in range(30):
                kind, payload = chance.randrange(0, 12), chance.randbytes(chance.randrange(0, 80))
                if kind == OPEN:
                    payload = bytes([chance.randrange(0, 12)]) + payload
                if kind == CALL:
                    payload = bytes([chance.randrange(0, 10)]) + payload
                said += frame(kind, chance.randrange(0, 6), payload)
            with self.agent.dial() as dialled:
                dialled.sendall(opening(b"n" * 16) + said)
                if chance.random() < 0.5:
                    dialled.settimeout(0.03)
                    try:
                        dialled.recv(65536)
                    except OSError:
                        pass
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.assertEqual(self.session.run("true").exit[0], 0)

    def test_seed(self):
        secret = b"\x77" * 16
        answer = self.session.call(SEED, text(secret) + text(b"e" * 32) + bytes(8) + text(""))
        self.assertEqual(answer.last[1][0] & 1, 1)
        self.assertEqual(self.session.call(SEED, text(b"\0" * 16) + text("") + bytes(8) + text("")).errno, errno.EINVAL)
        with self.agent.dial() as dialled:
            dialled.sendall(opening(b"n" * 16))
            dialled.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                dialled.recv(1)
        self.session = self.agent.session(secret=secret)
        self.addCleanup(self.session.close)


class Deadlines(Case):
    def set(self, ms):
        return self.session.call(DEADLINE, struct.pack("<Q", ms))

    def ended(self, start, after):
        # On a busy machine the kernel's timer comes before the agent has ended everything.
        self.assertIn(self.agent.process.wait(5), (0, -signal.SIGKILL))
        late = time.monotonic() - start - after
        self.assertTrue(-0.02 < late < 0.7, late)

    def test_welcome_announces_them(self):
        self.assertEqual(struct.unpack("<I", self.session.welcome[-4:])[0] & 1, 1)

    def test_the_sandbox_ends_with_everything_in_it_and_without_a_host(self):
        marker, start = self.marker(), time.monotonic()
        self.session.sh(f"trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {marker}' & sleep 0.1")
        self.assertEqual(self.set(600).last, (17, b""))
        start = time.monotonic()
        self.session.close()
        self.ended(start, 0.6)
        self.assertEqual(alive(marker), 0)

    def test_a_later_and_an_earlier_one_replace_it(self):
        self.set(200)
        self.set(60_000)
        time.sleep(0.4)
        self.session.call(PING)
        start = time.monotonic()
        self.set(300)
        self.ended(start, 0.3)

    def test_it_can_be_taken_away(self):
        self.set(200)
        self.assertEqual(self.set(NO_END).last, (17, b""))
        time.sleep(0.4)
        self.session.call(PING)

    def test_a_time_that_is_over_ends_at_once(self):
        start = time.monotonic()
        self.session.begin(bytes([DEADLINE]) + bytes(8), CALL)
        self.ended(start, 0)

    def test_absurd_times_are_refused(self):
        for payload in (b"", bytes(7), bytes(9), struct.pack("<Q", NO_END - 1), struct.pack("<Q", 2**40)):
            self.assertEqual(self.session.call(DEADLINE, payload).errno, errno.EINVAL)

    def test_an_agent_that_was_stopped_is_ended_by_the_kernel(self):
        self.set(300)
        os.kill(self.agent.process.pid, signal.SIGSTOP)
        start = time.monotonic()
        self.assertEqual(self.agent.process.wait(5), -signal.SIGKILL)
        self.assertLess(time.monotonic() - start, 1.0)

    def test_a_host_that_does_not_read_does_not_move_it(self):
        self.session.begin(exec_args("flood", ["cat", "/dev/zero"]), gives=False)
        start = time.monotonic()
        self.session.begin(bytes([DEADLINE]) + struct.pack("<Q", 400), CALL)
        self.ended(start, 0.4)


class Lasting(Case):
    """One stream for ever: standard input and output, as in a container."""

    stdio = True

    def test_cut_at_every_byte(self):
        recorded = (
            frame(PART, 2, b"\0\0") + frame(CALL, 1, bytes([PING])) + frame(OPEN, 3, exec_args("in", ["cat"], flags=STDIN))
            + frame(DATA, 3, b"\0half") + frame(EOF, 3, b"\0") + frame(OPEN, 4, exec_args("cut", ["true"], flags=DETACH)))
        whole = opening(b"n" * 16)[-(16 + 34 + 70):] + recorded
        for cut in range(1, len(whole)):
            self.session.write(whole[:cut])
            self.session.open()
            # The exec of the old session may still be ending: its name is its own until then.
            answer = self.session.run("echo", "works", name=f"new{cut}")
            self.assertEqual((answer.out, answer.exit[0]), (b"works\n", 0))
            self.assertNotIn("cut", self.session.execs())
        self.wait(lambda: not self.agent.children(), "the last to be reaped")

    def test_output_cut_anywhere(self):
        for _ in range(20):
            self.session.begin(exec_args(f"o{self.session.next}{time.monotonic()}", ["head", "-c", "2000000", "/dev/zero"]))
            self.session.more(1)
            self.session.buffer = b""
            self.session.open()
            self.assertEqual(self.session.run("true").exit[0], 0)

    def test_shutdown(self):
        marker = self.marker()
        self.session.begin(exec_args("left", ["sh", "-c", f"trap '' TERM; setsid sleep {marker} & sleep {marker}"]))
        self.wait(lambda: alive(marker) == 2, "its start")
        self.assertEqual(self.session.call(SHUTDOWN).last, (17, b""))
        self.assertEqual(self.agent.process.wait(5), 0)
        time.sleep(0.05)
        self.assertEqual(alive(marker), 0)

    def test_an_absent_host_is_waited_for(self):
        other = Agent(stdio=True)
        self.addCleanup(other.stop)
        other.process.stdin.close()
        time.sleep(0.3)
        with open(f"/proc/{other.process.pid}/stat", encoding="ascii") as file:
            ticks = sum(map(int, file.read().split(") ")[1].split()[11:13]))
        self.assertIsNone(other.process.poll())
        self.assertLess(ticks, 20)


class Dialled(unittest.TestCase):
    """Standard streams, and a socket of the host to which the agent connects."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="svc-host-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "s")
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.settimeout(10)
        self.listener.bind(self.path)
        self.listener.listen(4)

    def agent(self, nonce=b"n" * 16):
        agent = Agent(stdio=True, dials=self.path, nonce=nonce)
        self.addCleanup(agent.stop)
        return agent

    def accepted(self, nonce):
        conn, _ = self.listener.accept()
        conn.settimeout(10)
        self.addCleanup(conn.close)
        self.assertEqual(conn.recv(16, socket.MSG_WAITALL), nonce)
        return conn

    def over(self, conn):
        session = Session(conn.fileno(), conn.fileno(), conn)
        self.addCleanup(session.close)
        return session

    def test_it_connects_at_its_start_and_the_session_moves_both_ways(self):
        agent = self.agent()
        over = self.over(self.accepted(b"n" * 16))
        self.assertEqual(over.sh("echo over").out, b"over\n")
        standard = agent.session()
        self.assertEqual(standard.sh("echo standard").out, b"standard\n")
        with self.assertRaises(Lost):
            over.call(PING)
        self.assertEqual(standard.call(DIAL, text(b"m" * 16)).last, (17, b""))
        again = self.over(self.accepted(b"m" * 16))
        self.assertEqual(again.sh("echo again").out, b"again\n")
        again.close()
        self.assertEqual(agent.session().sh("echo back").out, b"back\n")

    def test_nobody_listens(self):
        self.listener.close()
        agent = self.agent()
        session = agent.session()
        self.assertEqual(session.call(DIAL, text(b"m" * 16)).errno, errno.ECONNREFUSED)
        os.unlink(self.path)
        self.assertEqual(session.call(DIAL, text(b"m" * 16)).errno, errno.ENOENT)
        self.assertEqual(session.sh("echo up").out, b"up\n")
        self.assertIn(b"cannot connect to the host's socket", agent.said().encode())

    def test_malformed(self):
        self.agent()
        session = self.over(self.accepted(b"n" * 16))
        for wrong in (b"", text(b"m" * 15), text(b"m" * 17), text(b"m" * 16) + b"x"):
            self.assertEqual(session.call(DIAL, wrong).errno, errno.EINVAL)
        self.assertEqual(session.call(DIAL | 0x80, struct.pack("<I", 20000) + text(b"m" * 16)).errno, errno.EPERM)
        other = Agent(stdio=True)
        self.addCleanup(other.stop)
        self.assertEqual(other.session().call(DIAL, text(b"m" * 16)).errno, errno.ENOENT)

    def test_a_host_that_asks_often_leaves_the_standard_streams(self):
        agent = self.agent()
        session = self.over(self.accepted(b"n" * 16))
        waiting = []
        for number in range(8):
            self.assertEqual(session.call(DIAL, text(bytes([65 + number]) * 16)).last, (17, b""))
            waiting.append(self.accepted(bytes([65 + number]) * 16))
        self.assertEqual(agent.session().sh("echo standard").out, b"standard\n")


class First(Case):
    """As process 1 of a namespace."""

    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("needs root for a namespace")
        self.agent = Agent(prefix=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
        self.addCleanup(self.agent.stop)
        self.session = self.agent.session()
        self.addCleanup(self.session.close)

    def test_orphans_are_reaped(self):
        for _ in range(30):
            self.session.sh("(setsid true &) ; true")
        count = "ps -eo stat= | grep -c Z || true"
        end = time.monotonic() + 5
        while self.session.sh(count).out != b"0\n":
            self.assertLess(time.monotonic(), end)

    def test_kill_ends_a_fork_bomb_that_takes_no_term(self):
        # Each goes on as its own child without end, half of them in groups of their own. In a namespace, since what they
        # leave is reaped by process 1: a slow one of the host would run out of process ids for everybody.
        bomb = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.monotonic() + 20
for turn in range(3):
    if os.fork() == 0 and turn % 2: os.setpgid(0, 0)
os.write(1, b".")
while time.monotonic() < end:
    if os.fork(): os._exit(0)
"""
        marker = self.marker()
        stream = self.session.begin(exec_args("bomb", ["python3", "-c", bomb, marker]))
        self.wait(lambda: len(self.session.answers[stream].out) == 8, "its start")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream, 10).errno, errno.ECANCELED)
        # Who was killed on a busy machine may still be on its way out; a bomb that was not ended goes on for longer.
        self.wait(lambda: alive(marker) == 0, "the last of them", 5)

    def test_it_cannot_be_killed_from_inside(self):
        self.session.sh("kill -9 1; kill -STOP 1")
        self.session.call(PING)

    def test_term_from_inside_does_shut_down(self):
        self.session.begin(exec_args("term", ["sh", "-c", "kill -TERM 1; sleep 1000"]))
        self.agent.process.wait(5)

    def test_nothing_inside_stops_the_deadline(self):
        marker = f"{random.randrange(10**6, 10**7)}.6"
        burn = "while :; do :; done"
        for name in range(40):
            self.session.begin(exec_args(f"burn{name}", ["sh", "-c", burn, marker]))
        self.session.sh("kill -9 1; kill -STOP 1; kill -CONT 1; kill -ALRM 1; kill -USR1 1")
        start = time.monotonic()
        self.session.call(DEADLINE, struct.pack("<Q", 500))
        self.agent.process.wait(5)
        self.assertLess(time.monotonic() - start, 1.5)
        self.assertEqual(alive(marker), 0)

    def test_shutdown_ends_everything(self):
        marker = f"{random.randrange(10**6, 10**7)}.5"
        self.session.sh(f"setsid sleep {marker} & sleep 0.1")
        self.assertEqual(alive(marker), 1)
        self.session.call(SHUTDOWN)
        self.agent.process.wait(5)
        self.assertEqual(alive(marker), 0)


if __name__ == "__main__":
    unittest.main()
