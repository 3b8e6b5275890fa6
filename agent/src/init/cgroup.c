/* Cgroup folders by the names in the settings: version 1, hybrid and 2 differ only in the names that the provider
 * gives. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/launch.h"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t put;

	if (fd < 0)
		return -1;
	put = write(fd, text, strlen(text));
	close(fd);
	return put < 0 ? -1 : 0;
}

static int write_limits(const struct settings *s, const char *key, int needed)
{
	struct settings_pair limit;
	size_t cursor = 0;
	int more;

	while ((more = settings_pair(s, key, &cursor, &limit)) > 0) {
		if (write_text(limit.second, limit.first) && needed)
			return fail("cgroup limit %s", strrchr(limit.second, '/') + 1);
	}
	return more ? fail("%s", key) : 0;
}

int cgroup_make(const struct settings *s)
{
	const char *folder;
	size_t cursor = 0;

	while ((folder = settings_each(s, "cgroup", &cursor))) {
		if (mkdir(folder, 0755) && errno != EEXIST)
			return fail("make a cgroup");
	}
	return write_limits(s, "limit", 1) || write_limits(s, "limit_try", 0) ? -1 : 0;
}

/* Version 1 has `tasks`: a single-threaded process that moves itself by it spares the kernel a wait for all processors
 * (12 ms measured), which cgroup.procs requires. */
static int join(const char *folder)
{
	static const char *const files[] = { "tasks", "cgroup.procs" };
	char path[4096];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		if (write_text(path, "0") == 0)
			return 0;
	}
	return -1;
}

int cgroup_join(const struct settings *s)
{
	const char *folder;
	size_t cursor = 0;

	while ((folder = settings_each(s, "cgroup", &cursor))) {
		if (join(folder))
			return fail("join a cgroup");
	}
	return 0;
}

void cgroup_remove(const struct settings *s)
{
	const char *folder;
	size_t cursor = 0;

	while ((folder = settings_each(s, "cgroup", &cursor)))
		rmdir(folder);
}
