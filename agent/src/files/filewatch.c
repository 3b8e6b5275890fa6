/* Watches a folder, and with `flag` the folders below it. The first record has no operations: the watch is then in place.
 * A new folder is watched before it is told of, and what was made in it meanwhile is told of, too. It ends only when it is
 * cancelled, or with EAGAIN when changes were lost or there are too many folders. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "files/filework.h"

#define FOLDERS_MAX 8192
#define NUMBERS_MAX (1 << 20)
#define SEEN (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_ATTRIB | IN_MODIFY | IN_DELETE)

enum { OP_CREATE = 1, OP_WRITE = 2, OP_REMOVE = 4, OP_RENAME = 8, OP_MODE = 16 };

static struct {
	int fd;
	const char *root;
	char **folders; /* by watch number: path below the root, "" for the root itself */
	size_t room, count;
	struct file_bytes records;
} watch;

static void tell(uint8_t ops, const char *folder, const char *name)
{
	char path[PATH_MAX];
	int size = snprintf(path, sizeof(path), "%s%s%s", folder, *folder && *name ? "/" : "", name);

	if (size < 0 || (size_t)size >= sizeof(path))
		return;
	file_put_u8(&watch.records, ops);
	file_put_str(&watch.records, path, (size_t)size);
}

static void remember(int number, const char *folder)
{
	size_t at = (size_t)number;

	if (at >= NUMBERS_MAX)
		file_refuse(EAGAIN);
	if (at >= watch.room) {
		size_t room = at * 2 + 16;

		watch.folders = file_more(watch.folders, room * sizeof(*watch.folders));
		memset(watch.folders + watch.room, 0, (room - watch.room) * sizeof(*watch.folders));
		watch.room = room;
	}
	if (!watch.folders[at])
		watch.count++;
	free(watch.folders[at]);
	watch.folders[at] = strdup(folder);
	if (!watch.folders[at] || watch.count > FOLDERS_MAX)
		file_refuse(EAGAIN);
}

static void forget(int number)
{
	if ((size_t)number >= watch.room || !watch.folders[number])
		return;
	free(watch.folders[number]);
	watch.folders[number] = NULL;
	watch.count--;
}

/* Adds a folder below the root; 0 when it has vanished. */
static int add(const char *folder)
{
	char path[PATH_MAX];
	int size = snprintf(path, sizeof(path), "%s%s%s", watch.root, *folder ? "/" : "", folder), number;

	if (size < 0 || (size_t)size >= sizeof(path))
		return 0;
	number = inotify_add_watch(watch.fd, path, SEEN | IN_ONLYDIR | (*folder ? IN_DONT_FOLLOW : 0));
	if (number < 0 && errno == ENOSPC)
		file_refuse(EAGAIN);
	if (number >= 0)
		remember(number, folder);
	return number >= 0;
}

static void add_below(const char *folder, int is_new);

/* `is_new`: what is in the folder is told of. */
static void add_tree(const char *folder, int is_new)
{
	if (add(folder))
		add_below(folder, is_new);
}

static void add_below(const char *folder, int is_new)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *open_folder;
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", watch.root, *folder ? "/" : "", folder);
	fd = file_open(path, O_RDONLY | O_DIRECTORY);
	open_folder = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !open_folder)
		close(fd);
	while (open_folder && (entry = readdir(open_folder))) {
		char below[PATH_MAX];
		int size;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (is_new)
			tell(OP_CREATE, folder, entry->d_name);
		size = snprintf(below, sizeof(below), "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
		if (entry->d_type == DT_DIR && size > 0 && (size_t)size < sizeof(below))
			add_tree(below, is_new);
	}
	if (open_folder)
		closedir(open_folder);
}

static uint8_t ops_of(uint32_t mask)
{
	return (uint8_t)((mask & (IN_CREATE | IN_MOVED_TO) ? OP_CREATE : 0) | (mask & IN_MODIFY ? OP_WRITE : 0) |
			 (mask & IN_DELETE ? OP_REMOVE : 0) | (mask & IN_MOVED_FROM ? OP_RENAME : 0) |
			 (mask & IN_ATTRIB ? OP_MODE : 0));
}

static void take(const struct inotify_event *event, int deep)
{
	const char *folder;

	if (event->mask & IN_Q_OVERFLOW)
		file_refuse(EAGAIN);
	if (event->wd < 0 || (size_t)event->wd >= watch.room || !(folder = watch.folders[event->wd]))
		return;
	if (event->mask & IN_IGNORED) {
		forget(event->wd);
		return;
	}
	if (event->len == 0)
		return;
	tell(ops_of(event->mask), folder, event->name);
	if (deep && (event->mask & IN_ISDIR) && (event->mask & (IN_CREATE | IN_MOVED_TO))) {
		char below[PATH_MAX];
		int size = snprintf(below, sizeof(below), "%s%s%s", folder, *folder ? "/" : "", event->name);

		if (size > 0 && (size_t)size < sizeof(below))
			add_tree(below, 1);
	}
}

static _Noreturn void follow(int out_fd, int deep)
{
	static char bytes[64 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));

	for (;;) {
		ssize_t got = read(watch.fd, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			file_refuse(got < 0 ? errno : EIO);
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(bytes + at);

			take(event, deep);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
		file_flush(&watch.records, out_fd);
	}
}

_Noreturn void file_watch(const struct file_op *op, int out_fd)
{
	int fd = file_open(op->path, O_PATH | O_DIRECTORY), deep = op->flag & 1;

	if (fd < 0)
		file_refuse(errno);
	close(fd);
	watch.root = strcmp(op->path, "/") ? op->path : "";
	watch.fd = inotify_init1(IN_CLOEXEC);
	if (watch.fd < 0)
		file_refuse(errno == EMFILE ? EAGAIN : errno);
	/* The root itself may be named by a link. */
	errno = 0;
	if (!add(""))
		file_refuse(errno == EACCES ? EACCES : ENOENT);
	if (deep)
		add_below("", 0);
	tell(0, "", "");
	file_flush(&watch.records, out_fd);
	follow(out_fd, deep);
}
