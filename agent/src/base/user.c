/* Switches a child to a tenant's uid, and sends signals as a tenant. */
#define _GNU_SOURCE
#include "base/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"

static int limit(__rlimit_resource_t resource, rlim_t most)
{
	struct rlimit limits;

	if (getrlimit(resource, &limits))
		return -1;
	if (most > limits.rlim_max)
		most = limits.rlim_max;
	limits.rlim_cur = limits.rlim_max = most;
	return setrlimit(resource, &limits);
}

/* A message queue is not in a folder, so nobody could remove it after its owner has left. */
static int limits(void)
{
	return limit(RLIMIT_NPROC, USER_PROCESSES) || limit(RLIMIT_MSGQUEUE, 0) || limit(RLIMIT_CORE, 0) ? -1 : 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	return syscall(SYS_capset, &header, none) ? -1 : 0;
}

int user_take(uid_t uid)
{
	if (uid == 0)
		return 0;
	if (limits() || setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return -1;
	if (drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	/* Until it executes a program, the child holds the agent's memory, and the change of uid may have opened that
	 * to the tenant. */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Forks a child with the tenant's rights and none of the agent's descriptors. Returns 0 in the child, its pid or -1 in
 * the agent. Nobody waits for it; it is reaped like any orphan. */
static pid_t fork_as(uid_t uid)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	descriptors_close_from(0);
	if (user_take(uid))
		_exit(1);
	return 0;
}

int user_kill(uid_t uid, pid_t target, int number)
{
	int status = kill(target, number);
	pid_t pid;

	/* Only the tenant itself may send it. */
	if (status == 0 || errno != EPERM || uid == 0)
		return status;
	pid = fork_as(uid);
	if (pid == 0)
		_exit(kill(target, number) != 0);
	return pid < 0 ? -1 : 0;
}

void user_kill_each(uid_t uid, const pid_t *targets, size_t count, int number)
{
	size_t refused = 0;

	for (size_t i = 0; i < count; i++)
		refused += kill(targets[i], number) && errno == EPERM;
	if (refused == 0 || uid == 0 || fork_as(uid) != 0)
		return;
	for (size_t i = 0; i < count; i++)
		kill(targets[i], number);
	_exit(0);
}
