"""Tenants of a pool, each an uid of one real svc-agent that holds exactly the capabilities of a pool's. Needs root."""

import errno
import os
import socket
import stat
import struct
import time
import unittest

from host import (
    ATTACH, CALL, CANCEL, CHMOD, CONNECT, CONSOLE, DEADLINE, DETACH, ENTER, LEAVE, PTY, READ, SEED, SHUTDOWN, SIGNAL, STAT, STDIN,
    WRITE, EOF, Agent, as_user, exec_args, text)

ANN, BOB = 720_001, 720_002
CAPABILITIES = "-all,+chown,+setuid,+setgid"
PREFIX = ("setpriv", f"--bounding-set={CAPABILITIES}", "--inh-caps=-all", "--no-new-privs")


def processes_of(uid):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        except (OSError, UnicodeDecodeError):
            continue
        if status["Uid"].split()[0] == str(uid) and status["State"][0] not in "ZX":
            found.append(int(pid))
    return found


@unittest.skipUnless(os.getuid() == 0, "needs root")
class Case(unittest.TestCase):
    def setUp(self):
        self.agent = Agent(prefix=PREFIX)
        self.addCleanup(self.agent.stop)
        os.chmod(self.agent.folder.name, 0o711)
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.homes = {ANN: os.path.join(self.agent.folder.name, "homes", "ann"),
                      BOB: os.path.join(self.agent.folder.name, "homes", "bob")}
        for uid in self.homes:
            self.enter(uid)
            self.addCleanup(self.end, uid)

    def end(self, uid):
        for pid in processes_of(uid):
            os.kill(pid, 9)

    def arguments(self, uid):
        return struct.pack("<I", uid) + text(self.homes[uid])

    def enter(self, uid):
        self.assertEqual(self.session.call(ENTER, self.arguments(uid)).last, (17, b""))

    def leave(self, uid):
        return self.session.call(LEAVE, self.arguments(uid))

    def sh(self, uid, script, **more):
        return self.session.sh(script, uid=uid, workdir=self.homes[uid], **more)

    def start(self, uid, script, name, flags=DETACH):
        payload = exec_args(name, ["sh", "-c", script], flags=flags, workdir=self.homes[uid])
        return self.session.begin(as_user(uid, payload))

    def wait(self, holds, what, patience=10.0):
        end = time.monotonic() + patience
        while not holds():
            self.assertLess(time.monotonic(), end, f"waited too long for {what}")
            self.session.pump(0.02)


class Becoming(Case):
    def test_an_exec_is_the_tenant(self):
        script = "id -u; id -G; grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status; grep 'Max processes' /proc/self/limits; pwd; touch a"
        lines = self.sh(ANN, script).out.decode().split("\n")
        self.assertEqual(lines[:2], [str(ANN), str(ANN)])
        self.assertEqual([line.split()[1] for line in lines[2:7]], ["0" * 16] * 4 + ["1"])
        self.assertEqual(lines[7].split()[2:4], ["256", "256"])
        self.assertEqual(lines[8], self.homes[ANN])
        facts = os.stat(os.path.join(self.homes[ANN], "a"))
        self.assertEqual((facts.st_uid, facts.st_gid), (ANN, ANN))

    def test_files_are_done_as_the_tenant(self):
        inside = os.path.join(self.homes[ANN], "f")
        stream = self.session.begin(as_user(ANN, bytes([WRITE]) + text(inside) + struct.pack("<IB", 0o600, 1)))
        self.session.data(stream, b"secret")
        self.session.send(EOF, stream, b"\0")
        self.session.finish(stream)
        self.assertEqual(os.stat(inside).st_uid, ANN)
        whole = struct.pack("<QQ", 0, 2**64 - 1)
        for uid, expected in ((ANN, b"secret"), (BOB, None)):
            answer = self.session.finish(self.session.begin(as_user(uid, bytes([READ]) + text(inside) + whole)))
            if expected is None:
                self.assertEqual(answer.errno, errno.EACCES)
            else:
                self.assertEqual(answer.out, expected)
        self.assertEqual(self.session.call(STAT, text(inside), uid=BOB).errno, errno.EACCES)
        self.assertEqual(self.session.call(CHMOD, text(inside) + struct.pack("<I", 0o777), uid=BOB).errno, errno.EACCES)

    def test_homes_are_closed(self):
        facts = os.stat(self.homes[ANN])
        self.assertEqual((stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid), (0o700, ANN, ANN))
        self.enter(ANN)
        self.assertEqual(self.sh(BOB, f"ls {self.homes[ANN]}").out, b"")
        self.assertEqual(self.sh(BOB, f"ls {os.path.dirname(self.homes[ANN])}").out, b"")
        self.assertNotEqual(self.sh(BOB, f"touch {os.path.dirname(self.homes[ANN])}/x").exit[0], 0)

    def test_a_terminal_is_the_tenants(self):
        answer = self.session.run("sh", "-c", "tty; echo x > $(tty); stat -c '%u %A' $(tty)", uid=ANN, flags=PTY)
        _, echoed, owner, mode = answer.out.split()
        self.assertEqual((echoed, owner, mode[-3:]), (b"x", str(ANN).encode(), b"---"))

    def test_what_concerns_all_is_refused(self):
        for method, payload in ((SHUTDOWN, b""), (SEED, text("") * 2 + bytes(8) + text("")),
                                (LEAVE, self.arguments(ANN)), (ENTER, self.arguments(ANN))):
            self.assertEqual(self.session.call(method, payload, uid=ANN).errno, errno.EPERM, method)

    def test_absurd_uids_are_refused(self):
        for uid in (0, 2**32 - 1):
            payload = bytes([STAT | 0x80]) + struct.pack("<I", uid) + text("/")
            self.assertEqual(self.session.finish(self.session.begin(payload, CALL)).errno, errno.EINVAL)
            self.assertEqual(self.session.call(ENTER, struct.pack("<I", uid) + text("/x")).errno, errno.EINVAL)
        self.assertEqual(self.session.finish(self.session.begin(bytes([STAT | 0x80, 1]), CALL)).errno, errno.EINVAL)
        self.assertEqual(self.session.call(ENTER, struct.pack("<I", ANN) + text("relative")).errno, errno.EINVAL)
        taken = struct.pack("<I", BOB) + text(self.homes[ANN])
        self.assertEqual(self.session.call(ENTER, taken).errno, errno.EEXIST)


class Separation(Case):
    def test_others_execs_do_not_exist(self):
        self.session.finish(self.start(ANN, "echo said; exec sleep 60", "ann"))
        self.assertEqual(set(self.session.execs(uid=ANN)), {"ann"})
        self.assertEqual(self.session.execs(uid=BOB), {})
        attach = bytes([ATTACH]) + text("ann") + b"\0"
        self.assertEqual(self.session.finish(self.session.begin(as_user(BOB, attach))).errno, errno.ENOENT)
        kill = text("ann") + struct.pack("<I", 9)
        self.assertEqual(self.session.call(SIGNAL, kill, uid=BOB).errno, errno.ENOENT)
        self.assertEqual(self.session.execs(uid=ANN)["ann"][0], 1)
        self.session.call(SIGNAL, kill, uid=ANN)
        self.wait(lambda: self.session.execs(uid=ANN)["ann"] == (2, 1, 137, 9), "the signal")

    def test_consoles_are_their_own(self):
        self.session.finish(self.start(ANN, "echo of ann", "ann"))
        self.wait(lambda: self.session.execs()["ann"][0] == 2, "its end")
        show = bytes([CONSOLE]) + struct.pack("<IB", 100, 0)
        shown = {uid: self.session.finish(self.session.begin(as_user(uid, show))).out for uid in (0, ANN, BOB)}
        self.assertIn(b" ann of ann\n", shown[ANN])
        self.assertNotIn(b"of ann", shown[0])
        self.assertEqual(shown[BOB], b"")

    def test_connect_reaches_own_ports_only(self):
        listen = "python3 -c 'import socket,time; s=socket.create_server((\"127.0.0.1\",0)); print(s.getsockname()[1],flush=True); s.accept()[0].sendall(b\"hello\"); time.sleep(60)'"
        stream = self.start(ANN, listen, "listener", flags=0)
        self.wait(lambda: b"\n" in self.session.answers[stream].out, "the port")
        port = int(self.session.answers[stream].out)
        ours = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(ours.close)
        connect = bytes([CONNECT]) + struct.pack("<H", port)
        agents = bytes([CONNECT]) + struct.pack("<H", ours.getsockname()[1])
        self.assertEqual(self.session.finish(self.session.begin(as_user(BOB, connect))).errno, errno.ECONNREFUSED)
        self.assertEqual(self.session.finish(self.session.begin(as_user(ANN, agents))).errno, errno.ECONNREFUSED)
        tunnel = self.session.begin(as_user(ANN, connect))
        self.wait(lambda: self.session.answers[tunnel].data[0] == b"hello", "the answer")

    def test_a_fork_bomb_takes_nothing_from_others(self):
        bomb = "import os, time\nfor _ in range(12):\n try: os.fork()\n except OSError: pass\ntime.sleep(60)"
        self.start(ANN, f"exec python3 -c '{bomb}'", "bomb")
        self.wait(lambda: len(processes_of(ANN)) > 200, "the bomb")
        self.assertLessEqual(len(processes_of(ANN)), 256)
        self.assertEqual(self.sh(BOB, "echo fine").out, b"fine\n")
        self.leave(ANN)
        self.assertEqual(processes_of(ANN), [])

    def test_no_message_queues(self):
        script = "python3 -c 'import ctypes; print(ctypes.CDLL(None).mq_open(b\"/q\", 0o102, 0o666, None))'"
        self.assertEqual(self.sh(ANN, script).out, b"-1\n")


class Ending(Case):
    def test_kill_and_deadline_reach_the_tenant(self):
        stream = self.start(ANN, "setsid sleep 61 & sleep 61 & trap '' TERM; echo up; sleep 61; sleep 61", "k", flags=0)
        self.wait(lambda: self.session.answers[stream].out, "the start")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)
        # What is killed is told at once, and takes its moment to go.
        self.wait(lambda: not processes_of(ANN), "the end of all")
        self.assertEqual(self.sh(ANN, "sleep 61", timeout=100).exit, (124, 15, 1))
        self.wait(lambda: not processes_of(ANN), "the end of the sleep")

    def test_cancelled_file_work_ends(self):
        path = os.path.join(self.homes[ANN], "slow")
        stream = self.session.begin(as_user(ANN, bytes([WRITE]) + text(path) + struct.pack("<IB", 0o600, 1)))
        self.session.data(stream, b"half")
        self.wait(lambda: processes_of(ANN), "the child")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)
        self.assertEqual(os.listdir(self.homes[ANN]), [])

    def test_leaving_ends_everything(self):
        self.session.finish(self.start(ANN, "setsid sleep 62 & trap '' TERM; sleep 62", "d1"))
        other = self.start(BOB, "echo up; exec sleep 62", "d2", flags=0)
        self.wait(lambda: self.session.answers[other].out and len(processes_of(ANN)) >= 2, "them")
        self.assertEqual(self.leave(ANN).last, (17, b""))
        self.assertEqual(processes_of(ANN), [])
        self.assertFalse(os.path.exists(self.homes[ANN]))
        self.assertEqual(len(processes_of(BOB)), 1)
        self.assertEqual(self.session.execs(uid=ANN), {})
        self.assertEqual(self.leave(ANN).last, (17, b""))
        self.assertTrue(os.path.exists(self.homes[BOB]))

    def test_leaving_removes_what_is_hard_to_remove(self):
        script = """
            mkdir -p closed/in; echo x > closed/in/f; chmod 000 closed/in closed
            mkdir listed; echo x > listed/f; chmod 444 listed
            ln -s /etc link; ln -s .. up; mkfifo fifo; echo x > ro; chmod 000 ro
            printf x > "$(printf 'new\\nline')"; printf x > ' -rf'
            python3 - <<'END'
import os
for _ in range(3000):
    os.mkdir('d' * 50); os.chdir('d' * 50)
os.chmod('.', 0)
END
            chmod 000 .
        """
        answer = self.sh(ANN, script)
        self.assertEqual((answer.exit[0], answer.data[2]), (0, b""))
        self.assertEqual(self.leave(ANN).last, (17, b""))
        self.assertFalse(os.path.exists(self.homes[ANN]))
        self.assertTrue(os.path.exists("/etc/passwd"))

    def test_leaving_removes_shared_memory(self):
        make = "python3 -c 'import ctypes; print(ctypes.CDLL(None).shmget(0x{:x}, 4096, 0o1666))'"
        ids = [int(self.sh(uid, make.format(uid)).out) for uid in (ANN, BOB)]
        self.addCleanup(lambda: [os.system(f"ipcrm -m {one} 2>/dev/null") for one in ids])
        self.assertTrue(all(one >= 0 for one in ids))
        self.leave(ANN)
        with open("/proc/sysvipc/shm", encoding="ascii") as file:
            left = {int(line.split()[1]) for line in file.readlines()[1:]}
        self.assertEqual([one in left for one in ids], [False, True])

    def test_leaving_wins_against_those_who_fight_it(self):
        fight = "import os,signal\nfor _ in range(8): os.fork()\nwhile True:\n try: os.kill(-1, signal.SIGSTOP)\n except OSError: pass"
        self.session.finish(self.start(ANN, f"exec python3 -c '{fight}'", "fight"))
        self.session.finish(self.start(ANN, "while :; do mkdir -p a/b/c; : > a/b/c/d; done", "maker"))
        self.wait(lambda: processes_of(ANN), "the fight")
        self.assertEqual(self.leave(ANN).last, (17, b""))
        self.assertEqual(processes_of(ANN), [])
        self.assertFalse(os.path.exists(self.homes[ANN]))


class Deadlines(Case):
    def set(self, uid, ms):
        return self.session.call(DEADLINE, struct.pack("<Q", ms), uid=uid)

    def test_it_ends_one_tenant_and_leaves_the_others(self):
        self.session.finish(self.start(ANN, "setsid sleep 63 & trap '' TERM; while :; do sleep 63; done", "d1"))
        self.session.finish(self.start(BOB, "exec sleep 63", "d2"))
        self.wait(lambda: len(processes_of(ANN)) == 3 and len(processes_of(BOB)) == 1, "them")
        self.assertEqual(self.set(BOB, 60_000).last, (17, b""))
        self.assertEqual(self.set(ANN, 300).last, (17, b""))
        start = time.monotonic()
        self.session.close()
        while processes_of(ANN):
            self.assertLess(time.monotonic() - start, 1.0)
            time.sleep(0.01)
        self.assertGreater(time.monotonic() - start, 0.25)
        self.assertEqual(len(processes_of(BOB)), 1)
        self.assertIsNone(self.agent.process.poll())
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.assertTrue(os.path.exists(self.homes[ANN]))
        self.assertEqual(self.leave(ANN).last, (17, b""))
        self.assertFalse(os.path.exists(self.homes[ANN]))

    def test_it_wins_against_those_who_fight_it(self):
        fight = "import os,signal\nfor _ in range(8): os.fork()\nwhile True:\n try: os.kill(-1, signal.SIGSTOP)\n except OSError: pass"
        self.session.finish(self.start(ANN, f"exec python3 -c '{fight}'", "fight"))
        self.wait(lambda: processes_of(ANN), "the fight")
        self.set(ANN, 100)
        self.wait(lambda: not processes_of(ANN), "their end")

    def test_who_has_left_has_none(self):
        self.set(ANN, 400)
        self.leave(ANN)
        self.enter(ANN)
        self.session.finish(self.start(ANN, "exec sleep 63", "next"))
        time.sleep(0.7)
        self.assertEqual(len(processes_of(ANN)), 1)

    def test_many_are_bounded(self):
        first = 730_000
        answers = [self.set(first + n, 60_000).last[0] for n in range(4096)]
        self.assertEqual(set(answers), {17})
        self.assertEqual(self.set(first + 5000, 60_000).errno, errno.EAGAIN)
        self.set(first, 2**64 - 1)
        self.assertEqual(self.set(first + 5000, 60_000).last, (17, b""))


if __name__ == "__main__":
    unittest.main(verbosity=1)
