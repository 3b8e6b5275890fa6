/* The second user namespace. The mounts belong to the first, so that a process in the second has no rights over them
 * even with every capability there; and the first allows no third. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init/init.h"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (fd < 0)
		return fail("%s", path);
	put = write(fd, text, strlen(text));
	close(fd);
	return put < 0 ? fail("%s", path) : 0;
}

int user_enter(const struct settings *s)
{
	unsigned inside = (unsigned)settings_number(s, "inside_uid", 1000);
	char map[64];

	/* 1 counts the one made here; another one below it fails with ENOSPC. user_namespaces(7) */
	if (write_file("/proc/sys/user/max_user_namespaces", "1"))
		return -1;
	if (unshare(CLONE_NEWUSER))
		return fail("make the inner user namespace");
	snprintf(map, sizeof(map), "%u 0 1", inside);
	if (write_file("/proc/self/uid_map", map) || write_file("/proc/self/gid_map", map))
		return -1;
	return 0;
}
