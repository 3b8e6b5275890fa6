# Behind attempts.py, inside a sandbox: tries to get out, one way after another.
intel = platform.machine() == 'x86_64'


def raw(number, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(one) for one in arguments]) < 0:
        raise OSError(ctypes.get_errno(), 'syscall')


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    code = os.WEXITSTATUS(status)
    return None if code == 0 else errno.errorcode.get(code, str(code))


def other_architecture():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')  # mov eax, 20; int 0x80; ret: getpid of i386
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def push_key():
    master, slave = os.openpty()
    fcntl.ioctl(slave, 0x5412, b'x')


def set_user():
    try:
        os.setuid(0)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return 'EPERM'  # EINVAL: the namespace maps no uid 0 at all


def walk_for(name):
    for folder, _, files in os.walk('/', onerror=None):
        if folder.startswith(('/proc', '/usr')):
            continue
        if name in files:
            return None
    return 'ENOENT'


def environments():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:
                if facts['canary'].encode() in file.read():
                    return None
        except OSError:
            pass
    return 'EACCES'


def command_lines():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            if int(pid) != os.getpid() and facts['canary'].encode() in file.read():
                return None
    return 'ENOENT'


def agent_descriptors():
    for name in os.listdir('/proc/1/fd'):
        os.readlink(f'/proc/1/fd/{name}')
    return 'EMPTY'


MS_REMOUNT_BIND = 32 | 4096
attempt('core_pattern', lambda: write('/proc/sys/kernel/core_pattern', '|/bin/sh'))
for path in ('/proc/sysrq-trigger', '/proc/sys/vm/drop_caches', '/proc/sys/kernel/modprobe'):
    attempt('write ' + path, lambda: write(path, '1'))
attempt('read /proc/kcore', lambda: read('/proc/kcore'))
attempt('remount /usr', lambda: call('mount', None, b'/usr', None, MS_REMOUNT_BIND, None))
attempt('write /usr', lambda: write('/usr/bin/svc-test-escape'))
attempt('write /etc', lambda: write('/etc/passwd'))
attempt('write /', lambda: write('/svc-test-escape'))
attempt('mount', lambda: call('mount', b'tmpfs', b'/tmp', b'tmpfs', 0, None))
attempt('umount', lambda: call('umount2', b'/tmp', 2))
attempt('chroot', lambda: os.chroot('/tmp'))
attempt('mknod', lambda: os.mknod('/tmp/disk', stat.S_IFBLK | 0o666, os.makedev(254, 0)))
for flag, name in ((0x10000000, 'user'), (0x00020000, 'mount'), (0x40000000, 'net')):
    attempt('unshare ' + name, lambda: in_child(lambda: call('unshare', flag)))
clone = 56 if intel else 220
attempt('clone user', lambda: in_child(lambda: raw(clone, 0x10000000 | 17, 0, 0, 0, 0)))
attempt('clone3', lambda: raw(435, 0, 0))
attempt('setns', lambda: call('setns', os.open('/proc/self/ns/net', os.O_RDONLY), 0))
for number, name in ((425, 'io_uring_setup'), (428, 'open_tree'), (430, 'fsopen'), (442, 'mount_setattr')):
    attempt(name, lambda: raw(number, 0, 0, 0, 0, 0))
for name, x64, arm in (('bpf', 321, 280), ('keyctl', 250, 219), ('perf_event_open', 298, 241),
                       ('userfaultfd', 323, 282), ('init_module', 175, 105), ('kexec_load', 246, 104)):
    attempt(name, lambda: raw(x64 if intel else arm, 0, 0, 0, 0, 0))
if intel:
    attempt('x32', lambda: in_child(lambda: raw(0x40000000 + 39)))
    attempt('i386', lambda: in_child(other_architecture))
younger = {'set_mempolicy_home_node': 450, 'cachestat': 451, 'statmount': 457, 'listmount': 458,
           'lsm_set_self_attr': 460, 'kcmp': 312 if intel else 272, 'fanotify_mark': 301 if intel else 263,
           'a call that nobody knows': 480, 'x32 without its bit': 547}
for name, number in younger.items():
    attempt(name, lambda: raw(number, 0, 0, 0, 0, 0))
for name, family in {'TIPC': 30, 'vsock': 40, 'Kernel crypto': 38}.items():
    attempt('a pair of ' + name, lambda: raw(53 if intel else 199, family, 1, 0, 0))
attempt('ptrace process 1', lambda: raw(101 if intel else 117, 16, 1, 0, 0))
attempt('memory of process 1', lambda: read('/proc/1/mem'))
attempt('environment of process 1', lambda: read('/proc/1/environ'))
attempt('descriptors of process 1', agent_descriptors)
attempt('maps of process 1', lambda: read('/proc/1/maps'))
attempt('setuid 0', set_user)
attempt('su', lambda: None if subprocess.run(['su', '-c', 'true'], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0 else 'EPERM')
attempt('TIOCSTI', push_key)
attempt('signal a host process', lambda: os.kill(facts['host_pid'], 0))
attempt('see host processes', command_lines)
attempt('see the server environment', environments)
for path in facts['host_files']:
    attempt('read ' + path, lambda: read(path))
    attempt('read by process 1 ' + path, lambda: read('/proc/1/root' + path))
attempt('find the socket', lambda: walk_for('agent.sock'))
attempt('connect to the host', lambda: socket.create_connection(('127.0.0.1', facts['host_port']), 2).close())
attempt('reach the host of a virtual machine', lambda: socket.socket(40, socket.SOCK_STREAM).close())
attempt('reach the network', lambda: socket.create_connection(('192.0.2.1', 80), 2).close())
