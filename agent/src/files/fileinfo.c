/* The `info` record of one file; of a link itself, never of its target. fstatat(2) does not trigger automounts, so
 * AT_NO_AUTOMOUNT, which gVisor refuses, is not needed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

enum { TYPE_FILE = 1, TYPE_DIR = 2, TYPE_LINK = 3, TYPE_OTHER = 4 };

static uint8_t type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return TYPE_FILE;
	if (S_ISDIR(mode))
		return TYPE_DIR;
	return S_ISLNK(mode) ? TYPE_LINK : TYPE_OTHER;
}

void file_put_info(struct file_bytes *bytes, const char *path, int dir, const char *name, const struct stat *facts)
{
	int64_t mtime_ms = (int64_t)((uint64_t)facts->st_mtim.tv_sec * 1000) + facts->st_mtim.tv_nsec / 1000000;
	char target[PATH_MAX];
	ssize_t size = S_ISLNK(facts->st_mode) ? readlinkat(dir, name, target, sizeof(target)) : 0;

	file_put_str(bytes, path, strlen(path));
	file_put_u8(bytes, type_of(facts->st_mode));
	file_put_u32(bytes, facts->st_mode & MODE_BITS);
	file_put_u64(bytes, (uint64_t)facts->st_size);
	file_put_u64(bytes, (uint64_t)mtime_ms);
	file_put_str(bytes, target, size > 0 ? (size_t)size : 0);
}

int file_facts(const char *path, struct stat *facts)
{
	int fd = file_open(path, O_PATH | O_NOFOLLOW);
	int status = fd < 0 ? -1 : fstat(fd, facts);

	if (fd >= 0)
		close(fd);
	return status;
}

_Noreturn void file_stat(const struct file_op *op)
{
	struct file_bytes result = { 0 };
	struct stat facts;

	file_check_prefix(op);
	if (file_facts(op->path, &facts))
		file_refuse(errno);
	file_put_info(&result, op->path, AT_FDCWD, op->path, &facts);
	file_put_facts(&result, op, AT_FDCWD, op->path, &facts);
	file_finish(&result);
}
