/* The calls that unpacking makes, and no others: a fault in it could start no program, open no connection and change no
 * owner. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "image/fault.h"
#include "image/image.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "svc-agent supports x86-64 and aarch64 only"
#endif

#define OPENAT2_CALL 437
#define FACCESSAT2_CALL 439

static const unsigned allowed[] = {
	SYS_read, SYS_write, SYS_lseek, SYS_close, SYS_openat, OPENAT2_CALL, SYS_newfstatat, SYS_fstat, SYS_statx,
	SYS_chdir, SYS_fchdir, SYS_getcwd, SYS_getdents64, SYS_readlinkat, SYS_faccessat, FACCESSAT2_CALL,
	SYS_mkdirat, SYS_symlinkat, SYS_linkat, SYS_unlinkat, SYS_fchmod, SYS_utimensat, SYS_syncfs,
	SYS_fcntl, SYS_writev, SYS_fsync, SYS_ftruncate, SYS_copy_file_range,
	SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise, SYS_mprotect, SYS_futex, SYS_getrandom,
	SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigreturn, SYS_sigaltstack, SYS_getpid, SYS_gettid, SYS_tgkill,
	SYS_clock_gettime, SYS_exit, SYS_exit_group,
#ifdef SYS_open
	SYS_open, SYS_stat, SYS_lstat, SYS_mkdir, SYS_symlink, SYS_link, SYS_unlink, SYS_rmdir, SYS_readlink,
	SYS_access,
#endif
};

#define ALLOWED (sizeof(allowed) / sizeof(allowed[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define WHEN(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)

int confine_calls(void)
{
	static struct sock_filter filter[4 + 2 * ALLOWED + 1] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };
	struct sock_filter *next = filter + 4;

	for (size_t i = 0; i < ALLOWED; i++) {
		*next++ = (struct sock_filter)WHEN(allowed[i]);
		*next++ = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	}
	*next = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? fail_confine("system call filter") : 0;
}
