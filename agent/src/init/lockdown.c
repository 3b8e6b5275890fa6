/* Permanent restrictions of a sandbox: limits, capabilities, privileges. Order matters: emptying the bounding set
 * requires CAP_SETPCAP, and the filter comes last because it refuses calls that the steps before need. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/init.h"

#define MAX_OPEN_FILES 16384

static int limit(int resource, uint64_t value)
{
	struct rlimit most;

	if (getrlimit((__rlimit_resource_t)resource, &most))
		return fail("read a limit");
	/* Without rights over the host a limit can only be lowered. */
	if (most.rlim_max != RLIM_INFINITY && value > most.rlim_max)
		value = most.rlim_max;
	most.rlim_cur = most.rlim_max = value;
	return setrlimit((__rlimit_resource_t)resource, &most) ? fail("set a limit") : 0;
}

static int wanted_limit(const struct settings *s, const char *key, int resource)
{
	uint64_t value = settings_number(s, key, 0);

	return value ? limit(resource, value) : 0;
}

static int limits(const struct settings *s)
{
	if (limit(RLIMIT_CORE, 0) || limit(RLIMIT_NOFILE, MAX_OPEN_FILES))
		return -1;
	if (wanted_limit(s, "limit_data", RLIMIT_DATA) || wanted_limit(s, "limit_file", RLIMIT_FSIZE))
		return -1;
	return wanted_limit(s, "limit_processes", RLIMIT_NPROC);
}

/* Capabilities that the agent of a pool keeps: to create homes, and children with other uids. */
static uint64_t kept(const struct settings *s)
{
	if (!settings_get(s, "pool_uid"))
		return 0;
	return 1ULL << CAP_CHOWN | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID;
}

/* bwrap has emptied the bounding set and left no right to do it again: EPERM with an empty set is success. */
static int drop_bounding_set(uint64_t keep)
{
	for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++) {
		if (number < 64 && keep >> number & 1)
			continue;
		if (prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 0)
			continue;
		if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0))
			return fail("empty the bounding set");
	}
	return 0;
}

static int drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct left[2] = { { .effective = (uint32_t)keep, .permitted = (uint32_t)keep }, { 0 } };

	if (drop_bounding_set(keep))
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return fail("clear the ambient set");
	return syscall(SYS_capset, &header, left) ? fail("drop capabilities") : 0;
}

int lockdown(const struct settings *s)
{
	if (limits(s))
		return -1;
	if (settings_get(s, "traced"))
		return lockdown_traced();
	if (drop_capabilities(kept(s)))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail("no new privileges");
	/* The agent's memory holds the secret; this closes /proc/1 to the guest, and ptrace too. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail("not dumpable");
	return lockdown_calls();
}
