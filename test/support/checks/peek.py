# Run inside a sandbox while others start execs there: stops each new process again and again until it is a program of
# its own, and tries to open the memory that it has before. Prints how many it saw, and how many it could open.
import os, signal, sys, time

AGENT = 'svc-agent'
seen = taken = 0
known = set(os.listdir('/proc'))


def is_agent(pid):
    try:
        with open(f'/proc/{pid}/comm') as file:
            return file.read().startswith(AGENT)
    except OSError:
        return False


def opens_memory(pid):
    try:
        os.close(os.open(f'/proc/{pid}/mem', os.O_RDONLY))
        return AGENT in os.readlink(f'/proc/{pid}/exe')
    except OSError:
        return False


def look(pid):
    os.kill(pid, signal.SIGSTOP)
    found, goes_on = opens_memory(pid), is_agent(pid)
    os.kill(pid, signal.SIGCONT)
    return found, goes_on


def follow(pid):
    found, goes_on, turns = False, True, 0
    try:
        while goes_on and not found and turns < 4000:
            found, goes_on = look(pid)
            turns += 1
    except ProcessLookupError:
        pass
    return found


until = time.monotonic() + 20
while time.monotonic() < until and seen < int(sys.argv[1]):
    now = set(os.listdir('/proc'))
    for name in filter(str.isdigit, now - known):
        if is_agent(int(name)):
            seen += 1
            taken += follow(int(name))
    known = now
print(seen, taken)
