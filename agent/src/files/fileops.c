/* file_child(): one file operation in a process of its own. It has no rights that the sandbox's own processes lack, so
 * a link cannot lead it further than they can go; the separate process protects against hangs, crashes and left-over
 * files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/filework.h"

/* chmod of the folder that `mkdirat` just made; if another file has taken its place, a link is not followed. */
static int set_mode(const struct file_place *place, uint32_t mode)
{
	int fd = openat(place->dir, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int status = fd < 0 ? -1 : fchmod(fd, mode);

	if (status) {
		int error = errno;
		unlinkat(place->dir, place->name, AT_REMOVEDIR);
		errno = error;
	}
	return status;
}

/* mkdir(2) ignores set-id bits and inherits the parent's set-gid bit, so a given mode is set afterwards. */
static _Noreturn void make_folder(const struct file_op *op)
{
	struct file_place place;
	struct stat facts;

	if (op->mode != NO_MODE && op->mode > MODE_BITS)
		file_refuse(EINVAL);
	if (op->flag && stat(op->path, &facts) == 0 && S_ISDIR(facts.st_mode))
		file_finish(NULL);
	if (file_place_at(&place, AT_FDCWD, op->path, op->flag))
		file_refuse(errno == EBUSY ? EEXIST : errno);
	if (mkdirat(place.dir, place.name, op->mode == NO_MODE ? 0755 : 0700)) {
		int error = errno;
		int there = error == EEXIST && fstatat(place.dir, place.name, &facts, 0) == 0;
		if (op->flag && there && S_ISDIR(facts.st_mode))
			file_finish(NULL);
		file_refuse(error);
	}
	if (op->mode != NO_MODE && set_mode(&place, op->mode))
		file_refuse(errno);
	file_finish(NULL);
}

static _Noreturn void change_mode(const struct file_op *op)
{
	if (op->mode > MODE_BITS)
		file_refuse(EINVAL);
	if (file_open(op->path, O_PATH) < 0 || fchmodat(AT_FDCWD, op->path, op->mode, 0))
		file_refuse(errno);
	file_finish(NULL);
}

_Noreturn void file_child(const struct file_op *op, int in_fd, int out_fd, int meta_fd)
{
	file_report_to(meta_fd);
	file_signals();
	umask(0);
	if (op->path[0] != '/' || (op->kind == FILE_MOVE && op->path2[0] != '/'))
		file_refuse(EINVAL);
	switch (op->kind) {
	case FILE_READ: file_read(op, out_fd);
	case FILE_WRITE: file_write(op, in_fd);
	case FILE_LIST: file_list(op, out_fd);
	case FILE_GLOB: file_glob(op, out_fd);
	case FILE_WATCH: file_watch(op, out_fd);
	case FILE_PACK: file_pack(op, out_fd);
	case FILE_UNPACK: file_unpack(op, in_fd);
	case FILE_STAT: file_stat(op);
	case FILE_MKDIR: make_folder(op);
	case FILE_MOVE: file_move(op);
	case FILE_CHMOD: change_mode(op);
	case FILE_REMOVE: file_remove(op);
	case FILE_USAGE: file_usage();
	}
	file_refuse(ENOSYS);
}
