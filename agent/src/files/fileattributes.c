/* Extended attributes of files, those below a prefix that the host names, and the numbers of the owner. Where a file system keeps
 * none, a file has none. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "files/filework.h"
#include "wire/wire.h"

/* Of all attributes of one file that are told, names and values. */
#define TOLD_MAX 16384
#define LIST_MAX 65536
#define PREFIX_MAX 64

/* Attributes of other kinds mean something to the kernel. */
static int is_sound_prefix(const char *prefix)
{
	return strncmp(prefix, "user.", 5) == 0 && strlen(prefix) <= PREFIX_MAX;
}

struct told {
	struct file_bytes entries;
	uint32_t count;
};

static void tell(struct told *told, int fd, const char *name, size_t prefix_size)
{
	static char value[TOLD_MAX];
	ssize_t size = fgetxattr(fd, name, value, sizeof(value));

	if (size < 0 || told->entries.size + strlen(name) + (size_t)size > TOLD_MAX)
		return;
	file_put_str(&told->entries, name + prefix_size, strlen(name) - prefix_size);
	file_put_str(&told->entries, value, (size_t)size);
	told->count++;
}

/* Calls `each` for the names below the prefix. Returns 0, or -1 where they cannot be listed. */
static int each_name(int fd, const char *prefix, void (*each)(void *with, int fd, const char *name, size_t prefix_size),
		     void *with)
{
	static char names[LIST_MAX];
	ssize_t size = flistxattr(fd, names, sizeof(names));
	size_t prefix_size = strlen(prefix);

	if (size < 0)
		return errno == EOPNOTSUPP ? 0 : -1;
	for (const char *name = names; name < names + size; name += strlen(name) + 1)
		if (strncmp(name, prefix, prefix_size) == 0)
			each(with, fd, name, prefix_size);
	return 0;
}

static void tell_one(void *with, int fd, const char *name, size_t prefix_size)
{
	tell(with, fd, name, prefix_size);
}

static void drop_one(void *with, int fd, const char *name, size_t prefix_size)
{
	(void)with;
	(void)prefix_size;
	fremovexattr(fd, name);
}

void file_put_facts(struct file_bytes *bytes, const struct file_op *op, int dir, const char *name,
		    const struct stat *facts)
{
	struct told told = { 0 };
	int fd = -1;

	if (!op->path2)
		return;
	/* Opening anything else could do something. */
	if (S_ISREG(facts->st_mode) || S_ISDIR(facts->st_mode))
		fd = file_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		each_name(fd, op->path2, tell_one, &told);
		close(fd);
	}
	file_put_u32(bytes, facts->st_uid);
	file_put_u32(bytes, facts->st_gid);
	file_put_u32(bytes, told.count);
	file_put_bytes(bytes, told.entries.at, told.entries.size);
	free(told.entries.at);
}

void file_check_prefix(const struct file_op *op)
{
	if (op->path2 && !is_sound_prefix(op->path2))
		file_refuse(EINVAL);
}

static int set_one(int fd, const char *prefix, struct reader *given)
{
	char name[XATTR_NAME_MAX + 1];
	size_t name_size, value_size, prefix_size = strlen(prefix);
	const uint8_t *text = read_bytes(given, &name_size), *value = read_bytes(given, &value_size);

	if (given->bad || name_size == 0 || prefix_size + name_size > XATTR_NAME_MAX || memchr(text, 0, name_size)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(name, prefix, prefix_size);
	memcpy(name + prefix_size, text, name_size);
	name[prefix_size + name_size] = '\0';
	return fsetxattr(fd, name, value, value_size, 0);
}

int file_set_attributes(int fd, const struct file_op *op)
{
	struct reader given = { .at = op->attributes, .end = op->attributes + op->attributes_size };

	if (!op->path2)
		return 0;
	if (each_name(fd, op->path2, drop_one, NULL))
		return -1;
	while (given.at < given.end)
		if (set_one(fd, op->path2, &given))
			return errno == EOPNOTSUPP ? 0 : -1;
	return 0;
}
