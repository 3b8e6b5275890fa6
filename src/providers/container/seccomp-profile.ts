// Our own seccomp profile, in the engine's format. The profile of older engines lets a container open sockets to the host
// of a virtual machine (AF_VSOCK), use io_uring and run code of the other architecture, where no rule looks at sockets.
import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';

const words = (text: string) => text.trim().split(/\s+/);

/**
 * The system calls that it allows, by purpose. All others are missing in a container: io_uring, keyrings, bpf, perf, userfaultfd,
 * namespaces, mounts, modules, and calls of newer kernels. Kernel names of any architecture; an engine ignores unknown names.
 * syscalls(2)
 */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  paths: words(`
    access faccessat faccessat2 chdir fchdir getcwd open openat openat2 creat stat lstat newfstatat statx statfs
    link linkat symlink symlinkat readlink readlinkat rename renameat renameat2 mkdir mkdirat mknod mknodat rmdir
    unlink unlinkat chmod fchmodat fchmodat2 chown lchown fchownat truncate utime utimes utimensat futimesat umask
    setxattr lsetxattr getxattr lgetxattr listxattr llistxattr removexattr lremovexattr name_to_handle_at
    inotify_init inotify_init1 inotify_add_watch inotify_rm_watch`),
  descriptors: words(`
    close close_range dup dup2 dup3 fcntl flock fstat fstatfs getdents getdents64 fchmod fchown ftruncate fallocate
    fadvise64 fsync fdatasync sync syncfs sync_file_range sync_file_range2 fsetxattr fgetxattr flistxattr fremovexattr
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek readahead ioctl
    sendfile copy_file_range splice tee vmsplice pipe pipe2`),
  waiting: words(`
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
    io_setup io_submit io_cancel io_destroy io_getevents io_pgetevents`),
  memory: words(`
    mmap munmap mremap mprotect madvise process_madvise brk msync mincore mlock mlock2 munlock mlockall munlockall
    memfd_create memfd_secret membarrier pkey_alloc pkey_free pkey_mprotect mseal map_shadow_stack remap_file_pages`),
  processes: words(`
    fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid getpgrp setpgid getsid setsid
    set_tid_address set_robust_list get_robust_list rseq arch_prctl prctl seccomp
    futex futex_waitv futex_wake futex_wait futex_requeue pidfd_open pidfd_send_signal process_mrelease
    ptrace process_vm_readv process_vm_writev
    landlock_create_ruleset landlock_add_rule landlock_restrict_self`),
  signals: words(`
    kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigpending rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn
    rt_sigsuspend rt_sigtimedwait sigaltstack pause alarm setitimer getitimer restart_syscall`),
  identity: words(`
    getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid
    setgroups setfsuid setfsgid capget capset`),
  shares: words(`
    getrlimit setrlimit prlimit64 getrusage getpriority setpriority ioprio_get ioprio_set getcpu times sysinfo uname
    getrandom sched_yield sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
    sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval`),
  time: words(`
    clock_getres clock_gettime clock_nanosleep nanosleep gettimeofday time
    timer_create timer_delete timer_getoverrun timer_gettime timer_settime`),
  sockets: words(`
    bind connect listen accept accept4 getsockname getpeername getsockopt setsockopt shutdown
    sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg`),
  shared: words(`
    shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`),
};

/** Calls that are also allowed with a configured capability; without it the kernel rejects them anyway. */
const CALLS_WITH: Readonly<Record<string, readonly string[]>> = {
  CAP_SYS_ADMIN: words(`
    mount umount2 mount_setattr open_tree move_mount fsopen fsconfig fsmount fspick pivot_root setns unshare clone
    sethostname setdomainname fanotify_init fanotify_mark quotactl`),
  CAP_SYS_CHROOT: ['chroot'],
  CAP_SYS_NICE: [
    'mbind',
    'get_mempolicy',
    'set_mempolicy',
    'set_mempolicy_home_node',
    'move_pages',
    'migrate_pages',
  ],
  CAP_SYS_PTRACE: ['kcmp', 'pidfd_getfd'],
  CAP_SYS_TIME: ['settimeofday', 'clock_settime', 'adjtimex', 'clock_adjtime'],
  CAP_DAC_READ_SEARCH: ['open_by_handle_at'],
  CAP_SYSLOG: ['syslog'],
};

const ENOSYS = 38;
/** UNIX, INET, INET6, NETLINK: those that belong to a network namespace, or to none. address_families(7) */
const FAMILIES = [1, 2, 10, 16];
/** NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. clone(2) */
const NAMESPACES = 0x7e02_0000;
/** Linux in 32 or 64 bits, with or without UNAME26, and the query of the current value. personality(2) */
const PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

const ALLOW = { action: 'SCMP_ACT_ALLOW' } as const;
const is = (value: number) => ({ index: 0, value, op: 'SCMP_CMP_EQ' });
const native = (architecture: string) => ({ architecture, subArchitectures: [] });

/**
 * Forbidden calls fail with ENOSYS as on an older kernel, so that C libraries fall back. A call of another architecture
 * ends the program.
 */
export const SECCOMP_PROFILE = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: ENOSYS,
  archMap: [native('SCMP_ARCH_X86_64'), native('SCMP_ARCH_AARCH64')],
  syscalls: [
    ...Object.values(CALLS).map((names) => ({ names, ...ALLOW })),
    ...FAMILIES.map((family) => ({ names: ['socket', 'socketpair'], ...ALLOW, args: [is(family)] })),
    ...PERSONALITIES.map((value) => ({ names: ['personality'], ...ALLOW, args: [is(value)] })),
    {
      names: ['clone'],
      ...ALLOW,
      args: [{ index: 0, value: NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      excludes: { caps: ['CAP_SYS_ADMIN'] },
    },
    // Filters cannot read its flags, which are in memory.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ...Object.entries(CALLS_WITH).map(([cap, names]) => ({ names, ...ALLOW, includes: { caps: [cap] } })),
  ],
};

const OURS = JSON.stringify(SECCOMP_PROFILE);

/** The profile as text, or undefined for the engine's own. Throws `provider_error` for an unreadable file or invalid JSON. */
export async function seccompProfile(setting: string): Promise<string | undefined> {
  if (setting === 'svc') return OURS;
  if (setting === 'default' || setting === '') return undefined;
  if (setting === 'unconfined') return setting;
  try {
    return JSON.stringify(JSON.parse(await readFile(setting, 'utf8')));
  } catch (cause) {
    throw new ServiceError('provider_error', 'Cannot read the seccomp profile.', {
      cause,
      remedy: 'Check providers.container.seccomp_profile.',
    });
  }
}
