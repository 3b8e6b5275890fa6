/* Resolves a path to a folder's descriptor and a name in it. The kernel resolves every path once; later steps use the
 * descriptor, so links swapped in between change nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

#define LINKS_MAX 40

static int fail_with(int error)
{
	errno = error;
	return -1;
}

static int copy_name(char *name, const char *from, size_t size)
{
	if (size > NAME_MAX)
		return fail_with(ENAMETOOLONG);
	memcpy(name, from, size);
	name[size] = 0;
	return 0;
}

/* Descends one level and creates the folder if it is missing. Closes `dir`. A name that exists and cannot be resolved
 * is a dangling link: ENOENT stays. */
static int step(int dir, const char *name)
{
	int next = file_open_at(dir, name, O_PATH | O_DIRECTORY);

	if (next < 0 && errno == ENOENT && (mkdirat(dir, name, 0755) == 0 || errno == EEXIST))
		next = file_open_at(dir, name, O_PATH | O_DIRECTORY);
	close(dir);
	return next;
}

static int make_folders(const char *path)
{
	int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	while (dir >= 0) {
		size_t size;

		path += strspn(path, "/");
		size = strcspn(path, "/");
		if (size == 0)
			break;
		if (copy_name(name, path, size)) {
			close(dir);
			return -1;
		}
		dir = step(dir, name);
		path += size;
	}
	return dir;
}

int file_place_at(struct file_place *place, int dir, const char *path, int make)
{
	char folder[PATH_MAX];
	size_t end = strlen(path), start;

	if (end >= PATH_MAX)
		return fail_with(ENAMETOOLONG);
	while (end > 0 && path[end - 1] == '/')
		end--;
	if (end == 0)
		return fail_with(*path ? EBUSY : ENOENT);
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	if (copy_name(place->name, path + start, end - start))
		return -1;
	if (strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0)
		return fail_with(EINVAL);
	memcpy(folder, path, start);
	strcpy(folder + start, start ? "" : ".");
	place->dir = file_open_at(dir, folder, O_PATH | O_DIRECTORY);
	if (place->dir < 0 && errno == ENOENT && make && *path == '/')
		place->dir = make_folders(folder);
	return place->dir < 0 ? -1 : 0;
}

int file_place_follow(struct file_place *place)
{
	char target[PATH_MAX];

	for (int links = 0;; links++) {
		ssize_t size = readlinkat(place->dir, place->name, target, sizeof(target) - 1);
		int dir = place->dir;

		if (size < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : -1;
		if (links == LINKS_MAX)
			return fail_with(ELOOP);
		target[size] = 0;
		if (file_place_at(place, dir, target, 0))
			return -1;
		close(dir);
	}
}

int file_is_mount(int dir, const char *name)
{
	struct stat inside, outside;
	struct statx facts;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO, &facts) == 0 &&
	    (facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
		return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	if (fstatat(dir, name, &inside, AT_SYMLINK_NOFOLLOW) || fstatat(dir, ".", &outside, 0))
		return 0;
	return S_ISDIR(inside.st_mode) && inside.st_dev != outside.st_dev;
}
