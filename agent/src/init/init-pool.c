/* The VM of a pool: one sandbox for several tenants, each with a uid of its own. Process 1 leaves the host's root for
 * uid 0 of a user namespace that maps a block of host uids reserved for it, and keeps only the rights to start children
 * with other uids there. The mounts belong to the host's namespace: nobody inside has any right over them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/init.h"

#define WORKSPACES "/workspaces"
#define MEBIBYTE (1024 * 1024)
/* A tenant's share of the common capacity. */
#define SHARE 4

/* With limits for each uid where the kernel supports them in memory (6.6), which needs no quota file. tmpfs(5) */
static int mount_workspaces(const struct settings *s, unsigned root)
{
	unsigned long long bytes = settings_number(s, "workspaces", MEBIBYTE), files = bytes / 4096;
	char options[256];
	int plain = snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=0711,uid=%u,gid=%u", bytes, files,
		root, root);

	snprintf(options + plain, sizeof(options) - (size_t)plain,
		 ",usrquota_block_hardlimit=%llu,usrquota_inode_hardlimit=%llu", bytes / SHARE, files / SHARE);
	if (mount("tmpfs", WORKSPACES, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
		return 0;
	options[plain] = '\0';
	if (mount("tmpfs", WORKSPACES, "tmpfs", MS_NOSUID | MS_NODEV, options))
		return fail("mount %s", WORKSPACES);
	snprintf(warnings, sizeof(warnings), "One user of the VM can fill the workspaces of all: this kernel bounds them in sum only.\n");
	return 0;
}

/* A tenant sees only its own processes; the agent's group sees all. proc(5) */
static int hide_processes(unsigned root)
{
	char options[64];

	snprintf(options, sizeof(options), "hidepid=2,gid=%u", root);
	return mount(NULL, "/proc", NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC, options) ? fail("hide processes") : 0;
}

static int write_map(const char *path, unsigned first, unsigned count)
{
	char map[64];
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int size = snprintf(map, sizeof(map), "0 %u %u\n", first, count);
	ssize_t put = fd < 0 ? -1 : write(fd, map, (size_t)size);

	if (fd >= 0)
		close(fd);
	return put == size ? 0 : -1;
}

/* A map of more than one's own uid is written from the parent namespace, which has the rights over those uids. The
 * descriptors are pipes: the parent reads `go` first, so that it does not write too soon. user_namespaces(7) */
static _Noreturn void map_for_parent(int go, unsigned first, unsigned count)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	_exit(write_map("/proc/1/uid_map", first, count) || write_map("/proc/1/gid_map", first, count) ? 1 : 0);
}

static int enter_namespace(unsigned first, unsigned count)
{
	int go[2], status;
	pid_t helper;

	if (pipe2(go, O_CLOEXEC))
		return fail("pipe");
	helper = fork();
	if (helper == 0)
		map_for_parent(go[0], first, count);
	if (helper < 0 || unshare(CLONE_NEWUSER) || write(go[1], "", 1) != 1)
		return fail("make the user namespace");
	close(go[0]);
	close(go[1]);
	if (waitpid(helper, &status, 0) != helper || status != 0) {
		errno = EPERM;
		return fail("map the uids of the pool");
	}
	if (setgroups(0, NULL) || setresgid(0, 0, 0) || setresuid(0, 0, 0))
		return fail("take a uid of the pool");
	return 0;
}

int pool_enter(const struct settings *s)
{
	unsigned first = (unsigned)settings_number(s, "pool_uid", 0), count = (unsigned)settings_number(s, "pool_uids", 0);

	if (first == 0 || count == 0) {
		errno = EINVAL;
		return fail("a pool never has uid 0 of the host");
	}
	if (settings_get(s, "workspaces") && mount_workspaces(s, first))
		return -1;
	return hide_processes(first) || enter_namespace(first, count) ? -1 : 0;
}
