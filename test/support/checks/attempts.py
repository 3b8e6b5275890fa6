# The beginning of escapes.py and of tenant-attacks.py: runs inside a sandbox, tries one thing after another, and prints
# what came of each as JSON. Every value is the name of the error that stopped the attempt; "DONE" means it worked.
import atexit, ctypes, errno, fcntl, json, mmap, os, platform, signal, socket, stat, subprocess, sys

facts = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
results = {}


def attempt(name, work):
    try:
        outcome = work()
        results[name] = 'DONE' if outcome is None else outcome
    except OSError as error:
        results[name] = errno.errorcode.get(error.errno, str(error.errno))


@atexit.register
def report():
    print(json.dumps(results))


def call(name, *arguments):
    ctypes.set_errno(0)
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def write(path, text='x'):
    with open(path, 'w') as file:
        file.write(text)


def read(path):
    with open(path, 'rb') as file:
        return None if file.read(64) else 'EMPTY'
