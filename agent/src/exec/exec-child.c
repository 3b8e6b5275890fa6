/* From fork to exec: the child installs its descriptors, closes the agent's, and executes the program. No code here
 * returns to the agent. The child stays not dumpable until it executes the program: a guest that could inspect it would
 * see the agent's memory and could take its status descriptor (STATUS_FD). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/account.h"
#include "base/descriptors.h"
#include "base/user.h"
#include "exec/exec.h"
#include "exec/foreground.h"

#define STATUS_FD 3
#define FOREGROUND_FD 4
#define ABOVE 16
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126

static _Noreturn void refuse(int error)
{
	uint8_t report[4];

	store_u32(report, (uint32_t)error);
	if (write(STATUS_FD, report, sizeof(report)) < 0)
		_exit(NOT_EXECUTABLE);
	_exit(NOT_FOUND);
}

/* Kept until the terminal is set up; every other descriptor of the agent is closed. */
static void take_own(const struct exec_ends *ends)
{
	/* Moved away first, so that neither overwrites the other. */
	int foreground = ends->foreground < 0 ? -1 : fcntl(ends->foreground, F_DUPFD_CLOEXEC, ABOVE);

	if (ends->status != STATUS_FD && dup3(ends->status, STATUS_FD, O_CLOEXEC) < 0)
		_exit(NOT_EXECUTABLE);
	if (foreground >= 0 && dup3(foreground, FOREGROUND_FD, O_CLOEXEC) < 0)
		_exit(NOT_EXECUTABLE);
	descriptors_close_from(foreground < 0 ? FOREGROUND_FD : FOREGROUND_FD + 1);
}

/* Programs open their own input and output again by name: /dev/stdin, /dev/tty. */
static int become_account(const struct exec_ends *ends)
{
	struct account account;

	if (account_find(ends->account, &account))
		return -1;
	if (ends->terminal && account.uid != geteuid() && chown(ends->terminal, account.uid, (gid_t)-1))
		return -1;
	for (int fd = 0; fd < 3 && !ends->terminal; fd++)
		account_give(&account, fd);
	return account_take(&account);
}

static void take_descriptors(const struct exec_ends *ends)
{
	/* All are above 2, so none is overwritten before it is moved. */
	if (!ends->terminal && (dup2(ends->in, 0) < 0 || dup2(ends->out, 1) < 0 || dup2(ends->err, 2) < 0))
		_exit(NOT_EXECUTABLE);
	take_own(ends);
	if (ends->account[0] ? become_account(ends) : user_take(ends->uid))
		refuse(errno);
	if (ends->terminal && pty_take(ends->terminal))
		refuse(errno);
	if (ends->foreground >= 0)
		foreground_keep(FOREGROUND_FD, STDIN_FILENO);
	/* The terminal's own descriptor. */
	descriptors_close_from(STATUS_FD + 1);
}

/* Uses the system call: the C library reserves two signal numbers, and the process that started the agent may have
 * ignored them. */
static void restore_signals(void)
{
	static const uint64_t standard[4]; /* handler, flags, restorer, mask of struct kernel_sigaction */
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, standard, NULL, sizeof(uint64_t));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void enter_workdir(const char *given, const char *standard)
{
	if (given[0]) {
		if (chdir(given))
			refuse(errno);
		return;
	}
	if (chdir(standard) == 0)
		return;
	if (errno != ENOENT || mkdir(standard, 0755) || chdir(standard))
		refuse(errno);
}

_Noreturn void exec_child(const struct exec_plan *plan, const struct exec_ends *ends)
{
	int error;

	setsid();
	take_descriptors(ends);
	restore_signals();
	enter_workdir(plan->workdir, ends->default_workdir);
	/* Only here: neither the agent nor its other children may believe that they changed their identity. */
	if (ends->ignores_owners && ignore_owners())
		refuse(errno);
	/* The search for the program uses the exec's own PATH. */
	environ = plan->env;
	execvp(plan->argv[0], plan->argv);
	error = errno;
	dprintf(STDERR_FILENO, "svc: %s: %s\n", plan->argv[0], strerror(error));
	_exit(error == ENOENT || error == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE);
}
