/* The lockdown under proot, which rewrites paths in the system calls of its tracees: not a security boundary, but the
 * limits that are possible without one. The agent stays dumpable, because its tracer reads its memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/init.h"

/* Calls with paths that are younger than proot: it does not rewrite their paths, which would then be the host's. They
 * report ENOSYS, so that C libraries use the older ones. syscalls(2) */
enum younger_calls {
	RENAMEAT2 = SYS_renameat2, EXECVEAT = SYS_execveat, STATX = SYS_statx,
	OPENAT2 = 437, FACCESSAT2 = 439, FCHMODAT2 = 452, SETXATTRAT = 463, GETXATTRAT = 464, LISTXATTRAT = 465,
	REMOVEXATTRAT = 466, FILE_GETATTR = 468, FILE_SETATTR = 469,
};

#define WHEN(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define UNKNOWN ANSWER(SECCOMP_RET_ERRNO | ENOSYS)

static int hide_younger_calls(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		WHEN(RENAMEAT2), UNKNOWN, WHEN(EXECVEAT), UNKNOWN, WHEN(STATX), UNKNOWN, WHEN(OPENAT2), UNKNOWN,
		WHEN(FACCESSAT2), UNKNOWN, WHEN(FCHMODAT2), UNKNOWN, WHEN(SETXATTRAT), UNKNOWN, WHEN(GETXATTRAT), UNKNOWN,
		WHEN(LISTXATTRAT), UNKNOWN, WHEN(REMOVEXATTRAT), UNKNOWN,
		WHEN(FILE_GETATTR), UNKNOWN, WHEN(FILE_SETATTR), UNKNOWN,
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? fail("system call filter") : 0;
}

int lockdown_traced(void)
{
	/* A killed tracer leaves its tracees on the host's files; this one, which serves the server, then ends too. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() == 1)
		return fail("end with the runner");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail("no new privileges");
	return lockdown_calls() || hide_younger_calls() ? -1 : 0;
}
