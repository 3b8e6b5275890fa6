"""Work as users of the sandbox: those of /etc/passwd, which is a file of the test's own for each agent. Needs root."""

import errno
import os
import shutil
import stat
import struct
import unittest

from host import (
    CALL, CANCEL, CHMOD, DETACH, EOF, EXECS, MKDIR, PING, PTY, READ, SIGNAL, STAT, WRITE, Agent, as_account, as_user, exec_args, text)

ANN = 740_001
PASSWD = f"root:x:0:0::/root:/bin/sh\nann:x:{ANN}:{ANN + 1}::/home/ann:/bin/sh\ncut:x:12\nlarge:x:4294967295:1::/:\nodd:x:-1:1::/:\n"
GROUP = f"root:x:0:\nclub:x:{ANN + 2}:bob,ann\nother:x:{ANN + 3}:annie\nlast:x:{ANN + 4}:ann\n"
NEEDED = "+chown,+dac_override,+kill,+setgid,+setuid"
ACCOUNTS = 1024
WHOLE = struct.pack("<QQ", 0, 2**64 - 1)


def prefix(passwd, group, capabilities=NEEDED):
    """Puts the two files in place for what follows, and takes the other capabilities away."""
    binds = f"mount --bind '{passwd}' /etc/passwd && mount --bind '{group}' /etc/group && exec \"$@\""
    limits = ("setpriv", f"--bounding-set=-all,{capabilities}", "--inh-caps=-all", "--no-new-privs")
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c", binds, "sh", *limits)


@unittest.skipUnless(os.getuid() == 0, "needs root")
class Case(unittest.TestCase):
    def begin(self, passwd=PASSWD, **more):
        self.folder = f"/tmp/svc-accounts-{os.getpid()}"
        os.mkdir(self.folder, 0o711)
        self.addCleanup(shutil.rmtree, self.folder)
        paths = [os.path.join(self.folder, name) for name in ("passwd", "group")]
        for path, content in zip(paths, (passwd, GROUP)):
            if content is None:
                os.mkfifo(path)
            else:
                with open(path, "w", encoding="ascii") as file:
                    file.write(content)
        self.agent = Agent(prefix=prefix(*paths, **more))
        self.addCleanup(self.agent.stop)
        self.session = self.agent.session()
        self.addCleanup(self.session.close)
        self.open = os.path.join(self.folder, "open")
        os.mkdir(self.open)
        os.chmod(self.open, 0o777)

    def capabilities(self):
        return struct.unpack("<I", self.session.welcome[-4:])[0]

    def sh(self, name, script, **more):
        payload = exec_args(f"x{self.session.next}", ["sh", "-c", script], workdir="/", **more)
        return self.session.finish(self.session.begin(as_account(name, payload)))

    def ask(self, name, payload, kind=CALL):
        return self.session.finish(self.session.begin(as_account(name, payload), kind))

    def write(self, name, path, content, flags=1):
        stream = self.session.begin(as_account(name, bytes([WRITE]) + text(path) + struct.pack("<IB", 2**32 - 1, flags)))
        self.session.data(stream, content)
        self.session.send(EOF, stream, b"\0")
        return self.session.finish(stream)


class Becoming(Case):
    def test_an_exec_is_the_user_without_any_right(self):
        self.begin()
        self.assertTrue(self.capabilities() & ACCOUNTS)
        lines = self.sh("ann", "id -u; id -g; id -G; grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status").out.decode().split("\n")
        self.assertEqual(lines[:3], [str(ANN), str(ANN + 1), f"{ANN + 1} {ANN + 2} {ANN + 4}"])
        self.assertEqual([line.split()[1] for line in lines[3:7]], ["0" * 16] * 4)
        self.assertEqual(self.sh("root", "id -u").out, b"0\n")

    def test_its_pipes_and_terminal_are_the_users(self):
        self.begin()
        answer = self.sh("ann", "echo a > /dev/stdout; echo b > /dev/stderr")
        self.assertEqual((answer.out, answer.data[2]), (b"a\n", b"b\n"))
        shown = self.sh("ann", "echo x > $(tty); stat -c '%u' $(tty)", flags=PTY).out.split()
        self.assertEqual(shown, [b"x", str(ANN).encode()])

    def test_the_sandbox_finds_and_ends_it(self):
        self.begin()
        payload = exec_args("d", ["sh", "-c", "exec sleep 60"], workdir="/", flags=DETACH)
        self.assertEqual(self.session.finish(self.session.begin(as_account("ann", payload))).exit[0], -1)
        self.assertEqual(self.session.execs()["d"][0], 1)
        self.session.call(SIGNAL, text("d") + struct.pack("<I", 9))
        self.session.until(lambda: self.session.execs()["d"] == (2, 1, 137, 9), "the signal")
        stream = self.session.begin(as_account("ann", exec_args("c", ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 9; done"], workdir="/")))
        self.session.until(lambda: self.session.answers[stream].out, "the start")
        self.session.send(CANCEL, stream)
        self.assertEqual(self.session.finish(stream).errno, errno.ECANCELED)

    def test_files_are_done_as_the_user(self):
        self.begin()
        path = os.path.join(self.open, "a/b")
        self.assertEqual(self.write("ann", path, b"mine").last[0], 17)
        facts = os.stat(path)
        self.assertEqual((facts.st_uid, facts.st_gid, os.stat(os.path.dirname(path)).st_uid), (ANN, ANN + 1, ANN))
        closed = os.path.join(self.folder, "closed")
        with open(closed, "w", encoding="ascii") as file:
            file.write("secret")
        os.chmod(closed, 0o600)
        os.symlink(closed, os.path.join(self.open, "link"))
        for place in (closed, os.path.join(self.open, "link")):
            read = bytes([READ]) + text(place) + WHOLE
            self.assertEqual(self.session.finish(self.session.begin(as_account("ann", read))).errno, errno.EACCES)
            self.assertEqual(self.session.finish(self.session.begin(as_account("root", read))).out, b"secret")
        self.assertEqual(self.write("ann", os.path.join(self.open, "link"), b"x", flags=2).errno, errno.EACCES)
        self.assertEqual(self.write("ann", os.path.join(self.folder, "new"), b"x").errno, errno.EACCES)
        self.assertEqual(self.ask("ann", bytes([CHMOD]) + text(closed) + struct.pack("<I", 0o777)).errno, errno.EPERM)
        self.assertEqual(self.ask("ann", bytes([STAT]) + text(path)).last[0], 17)

    def test_a_folder_below_the_root_is_made_for_the_user(self):
        self.begin()
        top = f"/svc-accounts-{os.getpid()}"
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        self.assertEqual(self.write("ann", f"{top}.d", b"x").errno, errno.EACCES)
        self.assertEqual(self.write("ann", f"{top}/in/f", b"x").last[0], 17)
        for path in (top, f"{top}/in", f"{top}/in/f"):
            self.assertEqual(os.stat(path).st_uid, ANN)
        self.assertEqual(stat.S_IMODE(os.stat(top).st_mode), 0o755)
        shutil.rmtree(top)
        make = bytes([MKDIR]) + text(top) + struct.pack("<I", 2**32 - 1)
        self.assertEqual(self.ask("ann", make + b"\0").errno, errno.EACCES)
        self.assertEqual(self.ask("ann", make + b"\1").last[0], 17)
        self.assertEqual(os.stat(top).st_uid, ANN)
        # One that is there stays as it is.
        os.chown(top, 0, 0)
        self.assertEqual(self.write("ann", f"{top}/f", b"x").errno, errno.EACCES)
        self.assertEqual(os.stat(top).st_uid, 0)


class Refusing(Case):
    def test_names_that_nobody_has(self):
        self.begin()
        for name in ("bob", "cut", "large", "odd", "ann:x", "a" * 64):
            self.assertEqual(self.sh(name, "true").errno, errno.EUSERS, name)
            self.assertEqual(self.ask(name, bytes([STAT]) + text("/")).errno, errno.EUSERS, name)

    def test_malformed_names_and_kinds_that_are_for_all(self):
        self.begin()
        for name in ("", "a" * 65, b"an\0n"):
            self.assertEqual(self.ask(name, bytes([STAT]) + text("/")).errno, errno.EINVAL, name)
        for payload, kind in ((bytes([PING]), CALL), (bytes([EXECS]), 3), (bytes([SIGNAL]) + text("x") + struct.pack("<I", 9), CALL)):
            self.assertEqual(self.ask("ann", payload, kind).errno, errno.EINVAL)
        both = as_user(ANN, bytes([STAT | 0x40]) + text("ann") + text("/"))
        self.assertEqual(self.session.finish(self.session.begin(both, CALL)).errno, errno.EINVAL)

    def test_without_the_rights(self):
        self.begin(capabilities="+chown,+setuid,+setgid")
        self.assertFalse(self.capabilities() & ACCOUNTS)
        self.assertEqual(self.sh("ann", "true").errno, errno.EPERM)

    def test_tables_that_are_none(self):
        for passwd, expected in ((None, errno.EINVAL), ("x" * (256 * 1024), errno.EFBIG), ("", errno.EUSERS)):
            with self.subTest(expected):
                self.begin(passwd)
                self.assertEqual(self.sh("ann", "true").errno, expected)
                self.assertEqual(self.ask("ann", bytes([STAT]) + text("/")).errno, expected)
                self.doCleanups()


if __name__ == "__main__":
    unittest.main(verbosity=1)
