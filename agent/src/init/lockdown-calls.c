/* The system call filter: a denylist on top of empty capability sets, for calls that an unprivileged process may still
 * make and that kernels had vulnerabilities in. ptrace is allowed: debuggers need it, it reaches only dumpable
 * processes of the same namespace (process 1 is not), and since Linux 4.8 the filter is applied after a tracer's
 * changes. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "init/init.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "svc-agent supports x86-64 and aarch64 only"
#endif

/* Newer than the headers of some builds; the same number on every architecture. syscalls(2) */
enum newer_calls {
	IO_URING_SETUP = 425, IO_URING_ENTER = 426, IO_URING_REGISTER = 427,
	OPEN_TREE = 428, MOVE_MOUNT = 429, FSOPEN = 430, FSCONFIG = 431, FSMOUNT = 432, FSPICK = 433,
	CLONE3 = 435, MOUNT_SETATTR = 442, QUOTACTL_FD = 443, SET_MEMPOLICY_HOME_NODE = 450, CACHESTAT = 451,
	STATMOUNT = 457, LISTMOUNT = 458, LSM_SET_SELF_ATTR = 460, OPEN_TREE_ATTR = 467, FILE_SETATTR = 469,
};

/* The newest call that was reviewed. Calls of newer kernels report ENOSYS, so that C libraries fall back. */
#define LAST_KNOWN FILE_SETATTR

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define TIOCLINUX_REQUEST 0x541C

static const unsigned refused[] = {
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_swapon, SYS_swapoff,
	OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, FSPICK, MOUNT_SETATTR, OPEN_TREE_ATTR, QUOTACTL_FD,
	SYS_setns, SYS_unshare,
	SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key,
	SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
	IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER,
	SYS_quotactl, SYS_acct, SYS_reboot, SYS_nfsservctl, SYS_lookup_dcookie, SYS_fanotify_init,
	SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_syslog, SYS_vhangup, SYS_settimeofday, SYS_clock_settime,
	SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_move_pages, SYS_migrate_pages,
	SYS_mbind, SYS_set_mempolicy, SET_MEMPOLICY_HOME_NODE, SYS_fanotify_mark, SYS_kcmp, LSM_SET_SELF_ATTR,
	/* Calls that affect the host: its page cache and its mounts. */
	CACHESTAT, STATMOUNT, LISTMOUNT,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
	SYS_iopl, SYS_ioperm, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_modify_ldt,
#endif
};

#define REFUSED (sizeof(refused) / sizeof(refused[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
/* The next instruction runs only when the loaded number equals `value`, else it is skipped. */
#define WHEN(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define ERRNO(number) (SECCOMP_RET_ERRNO | ((number) & SECCOMP_RET_DATA))
/* Low half of argument n: both architectures are little endian. */
#define ARGUMENT(n) args[n]

static const struct sock_filter head[] = {
	/* A program of another architecture has other numbers: it is killed. */
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
	ANSWER(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1),
	ANSWER(ERRNO(ENOSYS)),
	/* Its flags are in memory, which a filter cannot read: C libraries then fall back to clone. */
	WHEN(CLONE3),
	ANSWER(ERRNO(ENOSYS)),
};

static const struct sock_filter tail[] = {
	/* Only families that belong to a network namespace, or to none: vsock reaches the host from every namespace,
	 * and the others are rarely used kernel code. A socketpair loads the module of its family, too. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7),
	LOAD(ARGUMENT(0)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 3, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
	ANSWER(SECCOMP_RET_ALLOW),
	ANSWER(ERRNO(EAFNOSUPPORT)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
	LOAD(ARGUMENT(0)),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
	ANSWER(ERRNO(EPERM)),
	ANSWER(SECCOMP_RET_ALLOW),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5),
	/* TIOCSTI types into a terminal on behalf of another process. */
	LOAD(ARGUMENT(1)),
	WHEN(TIOCSTI),
	ANSWER(ERRNO(EPERM)),
	WHEN(TIOCLINUX_REQUEST),
	ANSWER(ERRNO(EPERM)),
	ANSWER(SECCOMP_RET_ALLOW),
};

#define HEAD (sizeof(head) / sizeof(head[0]))
#define TAIL (sizeof(tail) / sizeof(tail[0]))

int lockdown_calls(void)
{
	static struct sock_filter filter[HEAD + 2 * REFUSED + TAIL];
	struct sock_fprog program = { .len = HEAD + 2 * REFUSED + TAIL, .filter = filter };
	struct sock_filter *next = filter;

	for (size_t i = 0; i < HEAD; i++)
		*next++ = head[i];
	for (size_t i = 0; i < REFUSED; i++) {
		*next++ = (struct sock_filter)WHEN(refused[i]);
		*next++ = (struct sock_filter)ANSWER(ERRNO(EPERM));
	}
	for (size_t i = 0; i < TAIL; i++)
		*next++ = tail[i];
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? fail("system call filter") : 0;
}
