# Behind attempts.py, inside a pool's VM as one tenant: tries to reach another one, way after way. Its facts: home, file,
# pid, port, shm and queue key of the other; own home.


def through_link():
    link = os.path.join(facts['own'], 'link')
    os.symlink(facts['file'], link)
    return read(link)


def hard_link():
    os.link(facts['file'], os.path.join(facts['own'], 'hard'))


def climb():
    os.chdir(facts['own'])
    return read('../' + os.path.basename(facts['home']) + '/' + os.path.basename(facts['file']))


def vector():
    size = 8
    local = ctypes.create_string_buffer(size)
    iovec = (ctypes.c_void_p * 2)(ctypes.addressof(local), size)
    call('process_vm_readv', facts['pid'], iovec, 1, iovec, 1, 0)


def writable_elsewhere():
    """Every folder and file outside of the own home that can be written."""
    found = []
    for folder, names, files in os.walk('/'):
        if folder.startswith(('/proc', facts['own'])):
            names[:] = []
            continue
        if os.access(folder, os.W_OK):
            found.append(folder)
        for name in files:
            path = os.path.join(folder, name)
            facts_of = os.lstat(path)
            if stat.S_ISREG(facts_of.st_mode) and os.access(path, os.W_OK):
                found.append(path)
    return ' '.join(found) or 'EACCES'


def see():
    names = set(filter(str.isdigit, os.listdir('/proc')))
    return None if str(facts['pid']) in names else 'ENOENT'


def set_id_file():
    """A set-uid program of one's own gives the one who runs it nothing: no new privileges."""
    path = os.path.join(facts['own'], 'id')
    with open('/usr/bin/id', 'rb') as source, open(path, 'wb') as copy:
        copy.write(source.read())
    os.chmod(path, 0o6755)
    return 'EPERM' if os.popen(path + ' -u').read().strip() == str(os.getuid()) else None


def become(uid):
    return lambda: call('setresuid', uid, uid, uid)


pid = facts['pid']
attempt('read by path', lambda: read(facts['file']))
attempt('write by path', lambda: write(facts['file']))
attempt('read by link', through_link)
attempt('hard link', hard_link)
attempt('climb', climb)
attempt('list the home', lambda: os.listdir(facts['home']) and None)
attempt('list all homes', lambda: os.listdir('/workspaces') and None)
attempt('chmod the home', lambda: os.chmod(facts['home'], 0o777))
attempt('remove the home', lambda: os.rename(facts['home'], os.path.join(facts['own'], 'taken')))
attempt('replace the home', lambda: os.mkdir('/workspaces/new'))
attempt('chown', lambda: os.chown(facts['own'], facts['uid'], facts['uid']))
attempt('see', see)
for name in ('environ', 'mem', 'maps', 'cmdline', 'status', 'stat', 'stack'):
    attempt('proc ' + name, lambda: read(f'/proc/{pid}/{name}'))
for name in ('fd', 'task', 'map_files'):
    attempt('proc ' + name, lambda: os.listdir(f'/proc/{pid}/{name}') and None)
for name in ('cwd', 'root', 'exe'):
    attempt('proc ' + name, lambda: os.readlink(f'/proc/{pid}/{name}') and None)
attempt('file by cwd', lambda: read(f'/proc/{pid}/cwd/' + os.path.basename(facts['file'])))
attempt('signal', lambda: os.kill(pid, signal.SIGKILL))
attempt('signal its group', lambda: os.killpg(pid, signal.SIGKILL))
attempt('signal the agent', lambda: os.kill(1, signal.SIGKILL))
attempt('ptrace', lambda: call('ptrace', 16, pid, 0, 0))
attempt('ptrace the agent', lambda: call('ptrace', 16, 1, 0, 0))
attempt('process_vm_readv', vector)
attempt('pidfd_getfd', lambda: os.pidfd_open(pid) and call('syscall', 438, os.pidfd_open(pid), 0, 0))
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
attempt('affinity', lambda: os.sched_setaffinity(pid, {0}))
attempt('prlimit', lambda: call('prlimit', pid, 7, None, ctypes.create_string_buffer(16)))
attempt('shared memory', lambda: call('shmget', facts['key'], 0, 0o400))
attempt('semaphores', lambda: call('semget', facts['key'], 0, 0o400))
attempt('message queue of POSIX', lambda: call('mq_open', b'/svc-test', os.O_CREAT | os.O_RDWR, 0o666, None))
attempt('take the port', lambda: socket.create_server(('127.0.0.1', facts['port'])).close())
attempt('take the port for all', lambda: socket.create_server(('0.0.0.0', facts['port'])).close())
attempt('share the port', lambda: socket.create_server(('127.0.0.1', facts['port']), reuse_port=True).close())
attempt('setuid 0', become(0))
attempt('setuid other', become(facts['uid']))
attempt('setgroups', lambda: os.setgroups([facts['uid']]))
attempt('own set-uid file', set_id_file)
for path in ('/tmp/x', '/var/tmp/x', '/dev/shm/x', '/dev/x', '/run/x', '/x', '/etc/x', '/workspaces/x'):
    attempt('write ' + path, lambda: write(path))
attempt('write elsewhere', writable_elsewhere)
