/* Removes files and folders by descriptors: no path is looked up twice, and no link is followed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "image/fault.h"
#include "image/image.h"

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* What an archive makes lies at most DEPTH_MAX deep, so this recursion ends. */
int remove_name(int folder, const char *name)
{
	int fd;

	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return fail_system("remove a file");
	if (unlinkat(folder, name, AT_REMOVEDIR) == 0)
		return 0;
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_system("open a folder");
	if (empty_folder(fd))
		return -1;
	return unlinkat(folder, name, AT_REMOVEDIR) ? fail_system("remove a folder") : 0;
}

int empty_folder(int fd)
{
	DIR *list = fdopendir(fd);
	struct dirent *entry;
	int failed = 0;

	if (!list) {
		close(fd);
		return fail_system("open a folder");
	}
	while (!failed && (errno = 0, entry = readdir(list)))
		failed = is_dots(entry->d_name) ? 0 : remove_name(dirfd(list), entry->d_name);
	if (!failed && errno)
		failed = fail_system("read a folder");
	closedir(list);
	return failed;
}
