/* Binds of host folders. Read-only on a bind mount applies to its top mount only; every mount below needs it too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/init.h"

#define MOUNT_SETATTR_CALL 442 /* Linux 5.12; the same number on every architecture */
#define RECURSIVE 0x8000
#define ATTRIBUTES 0x7 /* read-only, no set-uid, no devices */

struct attributes {
	uint64_t set, clear, propagation, user_namespace;
};

int make_target(const char *path, int is_folder)
{
	char part[4200];
	int fd;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0755) && errno != EEXIST)
			return -1;
	}
	if (is_folder)
		return mkdir(path, 0755) && errno != EEXIST ? -1 : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return errno == EEXIST ? 0 : -1;
	return close(fd);
}

/* Spaces and other special characters are escaped as \ooo in mountinfo. proc(5) */
static void decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* Flags set by a more privileged namespace are locked and must be repeated. mount_namespaces(7) */
static int remount_one(const char *path)
{
	unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV;
	struct statvfs facts;

	if (statvfs(path, &facts))
		return errno == EACCES ? 0 : -1;
	if (facts.f_flag & ST_NOEXEC)
		flags |= MS_NOEXEC;
	if (facts.f_flag & ST_NOATIME)
		flags |= MS_NOATIME;
	if (facts.f_flag & ST_NODIRATIME)
		flags |= MS_NODIRATIME;
	if (facts.f_flag & ST_RELATIME)
		flags |= MS_RELATIME;
	return mount(NULL, path, NULL, flags, NULL);
}

/* For kernels before 5.12: each mount at or below `target`, as the old root's proc lists them. */
static int remount_each(const char *target)
{
	FILE *list = fopen("/old/proc/self/mountinfo", "re");
	size_t length = strlen(target), room = 0;
	char *line = NULL, path[4200];
	int failed = list ? 0 : -1;

	while (list && !failed && getline(&line, &room, list) > 0) {
		if (sscanf(line, "%*d %*d %*s %*s %4199s", path) != 1)
			continue;
		decode(path);
		if (strncmp(path, target, length) == 0 && (path[length] == '/' || path[length] == '\0'))
			failed = remount_one(path);
	}
	free(line);
	if (list)
		fclose(list);
	return failed;
}

int bind_read_only(const char *source, const char *target)
{
	struct attributes attributes = { .set = ATTRIBUTES };

	if (mount(source, target, NULL, MS_BIND | MS_REC, NULL))
		return -1;
	if (syscall(MOUNT_SETATTR_CALL, AT_FDCWD, target, RECURSIVE, &attributes, sizeof(attributes)) == 0)
		return 0;
	return remount_each(target);
}
