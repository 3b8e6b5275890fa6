/* Lists a folder to the requested depth, a folder before its content, names in byte order. A folder that cannot be read
 * is listed and not entered; files that vanish meanwhile are left out. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "files/filework.h"

/* A path that is a file lists itself. */
static _Noreturn void list_itself(const struct file_op *op, int out_fd)
{
	struct file_bytes records = { 0 };
	struct stat facts;

	if (file_facts(op->path, &facts))
		file_refuse(errno);
	if (op->limit > 0) {
		file_put_info(&records, op->path, AT_FDCWD, op->path, &facts);
		file_put_facts(&records, op, AT_FDCWD, op->path, &facts);
	}
	file_finish_walk(&records, out_fd, op->limit > 0, op->limit == 0);
}

_Noreturn void file_list(const struct file_op *op, int out_fd)
{
	int fd = file_open(op->path, O_PATH | O_DIRECTORY), truncated;
	struct file_bytes records = { 0 };
	struct file_walk walk;
	struct file_frame *frame;
	const char *entry;
	uint32_t count = 0;

	file_check_prefix(op);
	if (op->depth == 0)
		file_refuse(EINVAL);
	if (fd < 0 && errno == ENOTDIR)
		list_itself(op, out_fd);
	if (fd < 0 || !(frame = file_walk_start(&walk, fd, op->path)))
		file_refuse(errno);
	if (file_names_read(&frame->names, frame->fd, (size_t)op->limit + 1))
		file_refuse(errno);
	truncated = frame->names.dropped;
	while ((entry = file_walk_next(&walk))) {
		const char *name = file_name_text(entry);
		struct stat facts;

		frame = file_walk_top(&walk);
		if (fstatat(frame->fd, name, &facts, AT_SYMLINK_NOFOLLOW))
			continue;
		if (count == op->limit)
			file_finish_walk(&records, out_fd, count, 1);
		count++;
		file_put_info(&records, walk.path, frame->fd, name, &facts);
		file_put_facts(&records, op, frame->fd, name, &facts);
		if (records.size > FILE_PIECE)
			file_flush(&records, out_fd);
		if (!S_ISDIR(facts.st_mode) || walk.depth >= op->depth)
			continue;
		frame = file_walk_enter(&walk, name, 0);
		if (frame && file_names_read(&frame->names, frame->fd, (size_t)op->limit - count + 1))
			file_walk_leave(&walk);
		else if (frame)
			truncated |= frame->names.dropped;
	}
	file_finish_walk(&records, out_fd, count, truncated);
}
