/* Protects the process that does the operation from the operation itself. It is a fork of the agent, so its memory map
 * is the agent's, and its descriptors carry its answers. Every path is checked after it is opened and before it is
 * used: links, `/dev/fd` and other mounts all end there, and swapping them meanwhile changes nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/filework.h"

/* File systems without names: only a descriptor's name in /proc leads to their files. */
static int is_nameless(long type)
{
	return type == PIPEFS_MAGIC || type == SOCKFS_MAGIC || type == ANON_INODE_FS_MAGIC;
}

/* `/proc/net` and `/proc/mounts` lead through `self` and describe namespaces. */
static int is_shared(const char *below)
{
	return strncmp(below, "net/", 4) == 0 || strcmp(below, "net") == 0 || strcmp(below, "mounts") == 0;
}

/* Returns whether `part` is the target of the `self` beside it. */
static int is_self(const char *path, const char *part)
{
	char beside[PATH_MAX + 8], self[NAME_MAX + 1];
	size_t size = strcspn(part, "/");
	ssize_t got;

	snprintf(beside, sizeof(beside), "%.*sself", (int)(part - path), path);
	got = readlink(beside, self, sizeof(self));
	return got > 0 && (size_t)got == size && memcmp(self, part, size) == 0;
}

static int is_of_self(const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *part = slash + 1, *below = part + strcspn(part, "/");

		if (is_self(path, part))
			return !is_shared(*below ? below + 1 : below);
	}
	return 0;
}

int file_is_own(int fd)
{
	char name[64], path[PATH_MAX + 1];
	struct statfs system;
	ssize_t size;

	/* gVisor's /proc does not report its type. */
	if (fstatfs(fd, &system) == 0 && system.f_type != PROC_SUPER_MAGIC)
		return is_nameless(system.f_type);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	size = readlink(name, path, PATH_MAX);
	path[size > 0 ? size : 0] = '\0';
	return size <= 0 || is_of_self(path);
}

int file_open_at(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC);

	if (fd < 0 || !file_is_own(fd))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

int file_open(const char *path, int flags)
{
	return file_open_at(AT_FDCWD, path, flags);
}
