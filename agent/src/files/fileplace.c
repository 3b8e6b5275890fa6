/* The folders of an archive that is unpacked. Every folder on the way is opened by its name from the one above, and a
 * link is never entered, so nothing leaves the folder that was named. The entries of an archive mostly follow each other
 * in one folder, which stays open. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

#define DEPTH_MAX 256

static int fail_with(int error)
{
	errno = error;
	return -1;
}

/* Copies the path without blank parts and `.` to `folder`, and its last part to `name`. */
static int split(const char *path, char folder[PATH_MAX], char name[NAME_MAX + 1])
{
	size_t filled = 0, depth = 0, size;

	*name = 0;
	for (const char *at = path; *at; at += size + (at[size] == '/')) {
		size = strcspn(at, "/");
		if (size == 0 || (size == 1 && *at == '.'))
			continue;
		if (size == 2 && at[0] == '.' && at[1] == '.')
			return fail_with(EINVAL);
		if (size > NAME_MAX || ++depth > DEPTH_MAX || filled + NAME_MAX + 2 > PATH_MAX)
			return fail_with(ENAMETOOLONG);
		if (*name) {
			size_t length = strlen(name);

			memcpy(folder + filled, name, length);
			filled += length;
			folder[filled++] = '/';
		}
		memcpy(name, at, size);
		name[size] = 0;
	}
	folder[filled] = 0;
	return 0;
}

static int step(int dir, const char *name, int make)
{
	int next = file_open_at(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);

	if (next < 0 && errno == ENOENT && make && (mkdirat(dir, name, 0755) == 0 || errno == EEXIST))
		next = file_open_at(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	/* Kernels differ in what they say of a link. */
	if (next < 0 && errno == ELOOP)
		errno = ENOTDIR;
	return next;
}

static void leave(struct file_below *below)
{
	if (below->dir != below->root)
		close(below->dir);
	below->dir = below->root;
	*below->known = 0;
}

int file_below_find(struct file_below *below, const char *path, int make, char name[NAME_MAX + 1])
{
	char folder[PATH_MAX], part[NAME_MAX + 1];
	const char *rest = folder;

	if (split(path, folder, name))
		return -1;
	if (strcmp(folder, below->known) == 0)
		return 0;
	leave(below);
	while (*rest) {
		size_t size = strcspn(rest, "/");
		int next;

		memcpy(part, rest, size);
		part[size] = 0;
		next = step(below->dir, part, make);
		if (next < 0) {
			int error = errno;

			leave(below);
			return fail_with(error);
		}
		if (below->dir != below->root)
			close(below->dir);
		below->dir = next;
		rest += size + 1;
	}
	strcpy(below->known, folder);
	return 0;
}
