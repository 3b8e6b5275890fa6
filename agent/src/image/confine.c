/* Confines unpacking to one folder before it reads the first byte. For root a mount namespace is enough, and the store's
 * uid is taken for good; any other user gets the right to a root of its own by a user namespace in which nobody else
 * exists. Then no capability is left, and the target is the root of everything that the process can name. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "image/fault.h"
#include "image/image.h"

/* Since Linux 5.2; the same numbers on every architecture. */
#define OPEN_TREE_CALL 428
#define MOVE_MOUNT_CALL 429
#define CLONE_TREE (1 | O_CLOEXEC)
#define SOURCE_IS_EMPTY 4

#define CPU_SECONDS 600
/* Two for each folder on the path from the root, when trees are merged. */
#define FILES_MAX (2 * DEPTH_MAX + 64)

static int write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (fd < 0)
		return -1;
	put = write(fd, text, strlen(text));
	close(fd);
	return put < 0 ? -1 : 0;
}

/* A user namespace that maps this user alone, to itself. user_namespaces(7) */
static int own_namespaces(void)
{
	unsigned uid = getuid(), gid = getgid();
	char uids[64], gids[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return fail_confine("make a user namespace");
	snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
	if (write_map("/proc/self/uid_map", uids) || write_map("/proc/self/setgroups", "deny") ||
	    write_map("/proc/self/gid_map", gids))
		return fail_confine("map the user");
	return 0;
}

/* The working folder becomes the root, and nothing above it stays mounted. */
static int pivot(void)
{
	const unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	int tree;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	tree = (int)syscall(OPEN_TREE_CALL, AT_FDCWD, ".", CLONE_TREE);
	if (tree < 0 || syscall(MOVE_MOUNT_CALL, tree, "", AT_FDCWD, "/", SOURCE_IS_EMPTY) || fchdir(tree))
		return -1;
	close(tree);
	if (syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		return -1;
	return mount(NULL, "/", NULL, flags, NULL);
}

/* Where mounts are refused, as in a container, no descriptor of a folder above is left open either. */
static int enter(void)
{
	if (pivot() == 0)
		return 0;
	if (fchdir(TARGET_FD) || chroot(".") || chdir("/"))
		return fail_confine("change the root");
	return 0;
}

static int take_uid(uid_t uid)
{
	if (uid == 0) {
		errno = EINVAL;
		return fail_confine("images never belong to root");
	}
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return fail_confine("take the store's uid");
	return 0;
}

static int limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit most;

	if (getrlimit(resource, &most))
		return fail_confine("read a limit");
	most.rlim_max = most.rlim_max < value ? most.rlim_max : value;
	most.rlim_cur = most.rlim_max;
	return setrlimit(resource, &most) ? fail_confine("set a limit") : 0;
}

static int drop_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	if (syscall(SYS_capset, &header, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail_confine("drop capabilities");
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? fail_confine("drop capabilities") : 0;
}

int confine(const struct unpack_options *options)
{
	descriptors_close_from(RECORDS_FD + 1);
	signal(SIGXFSZ, SIG_IGN);
	/* The working folder follows into the new mount namespace; a descriptor stays in the old one. */
	if (fchdir(TARGET_FD))
		return fail_confine("enter the target");
	if (geteuid() == 0) {
		if (unshare(CLONE_NEWNS) && errno != EPERM)
			return fail_confine("make a mount namespace");
		if (enter() || take_uid(options->uid))
			return -1;
	} else if (own_namespaces() || enter()) {
		return -1;
	}
	close(TARGET_FD);
	if (limit(RLIMIT_CORE, 0) || limit(RLIMIT_CPU, CPU_SECONDS) || limit(RLIMIT_NOFILE, FILES_MAX) ||
	    limit(RLIMIT_FSIZE, options->max_bytes + options->max_record_bytes))
		return -1;
	return drop_rights() || confine_calls() ? -1 : 0;
}
