/* For commands that run as root of an image, in a user namespace that maps one uid: installers give files to other owners and
 * daemons change their identity, which the kernel refuses there. The calls answer 0 and change nothing; no right is
 * granted. A program that checks its identity afterwards sees that it is unchanged. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "exec/exec.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "svc-agent supports x86-64 and aarch64 only"
#endif

static const unsigned ignored[] = {
	SYS_fchown, SYS_fchownat, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
	SYS_setgroups, SYS_setfsuid, SYS_setfsgid,
#ifdef SYS_chown
	SYS_chown, SYS_lchown,
#endif
};

#define IGNORED (sizeof(ignored) / sizeof(ignored[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define WHEN(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)

int ignore_owners(void)
{
	struct sock_filter filter[4 + 2 * IGNORED + 1] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };
	struct sock_filter *next = filter + 4;

	for (size_t i = 0; i < IGNORED; i++) {
		*next++ = (struct sock_filter)WHEN(ignored[i]);
		/* An error of 0 is a success. seccomp(2) */
		*next++ = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO);
	}
	*next = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
