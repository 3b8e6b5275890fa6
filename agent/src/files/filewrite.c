/* Writes a file: a temporary file beside it takes the content and then its name, so that a reader sees the old or the
 * new content. Where that is impossible (a mount on the name, a device, a kernel file, a folder that accepts no new
 * names) the target itself is written, and the answer says so. A regular file does not change before the end of the
 * content. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "files/filework.h"

#define IN_PLACE 2 /* in op->flag: the file keeps its number, its links and its owner */

int64_t file_copy_content(int from, int to)
{
	static char piece[FILE_PIECE];
	int64_t total = 0;

	for (;;) {
		ssize_t got = read(from, piece, sizeof(piece));

		if (got < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = from, .events = POLLIN };
			poll(&wait, 1, -1);
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : total;
		if (file_cancelled()) {
			errno = ECANCELED;
			return -1;
		}
		if (file_write_whole(to, piece, (size_t)got))
			return -1;
		total += got;
	}
}

static _Noreturn void finish(int64_t size, int atomic)
{
	struct file_bytes result = { 0 };

	file_put_u64(&result, (uint64_t)size);
	file_put_u8(&result, (uint8_t)atomic);
	file_finish(&result);
}

/* When the agent dies, the pipe closes before this process gets its signal: that is not the end of the content. */
static int64_t take_content(int in_fd, int to)
{
	int64_t size;

	fcntl(in_fd, F_SETPIPE_SZ, 1 << 20);
	size = file_copy_content(in_fd, to);
	if (size < 0)
		file_refuse(errno);
	if (file_parent_gone())
		file_quit();
	return size;
}

/* Mode and owner apply to a file and not to a device; a FIFO without a reader is ENXIO. Writing clears set-id bits, so
 * the mode is set afterwards; and also before, to refuse before the content is lost. */
static _Noreturn void write_in_place(const struct file_op *op, int in_fd)
{
	int fd = file_open(op->path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_NOCTTY);
	int set_mode = op->mode != NO_MODE;
	struct stat facts;
	int64_t size;

	if (fd < 0 || fstat(fd, &facts))
		file_refuse(errno);
	set_mode = set_mode && S_ISREG(facts.st_mode);
	if (set_mode && fchmod(fd, op->mode))
		file_refuse(errno);
	size = take_content(in_fd, fd);
	if (set_mode && fchmod(fd, op->mode))
		file_refuse(errno);
	if (S_ISREG(facts.st_mode) && file_set_attributes(fd, op))
		file_refuse(errno);
	if (close(fd))
		file_refuse(errno);
	finish(size, 0);
}

/* Sets the owner first, because changing it clears set-id bits; if the owner cannot be kept, those bits would serve
 * another user. */
int file_dress(int fd, const struct stat *old, uint32_t given)
{
	uint32_t mode = old ? old->st_mode & MODE_BITS : 0644;
	struct stat now;

	if (old && fstat(fd, &now) == 0 && (now.st_uid != old->st_uid || now.st_gid != old->st_gid)) {
		if (fchown(fd, old->st_uid, old->st_gid))
			mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	}
	return fchmod(fd, given == NO_MODE ? mode : given);
}

/* These errors mean that the folder accepts no new name, not that the file cannot be written. */
static int takes_no_name(int error)
{
	return error == EACCES || error == EPERM || error == EROFS || error == ENOENT || error == EOPNOTSUPP;
}

static _Noreturn void write_beside(const struct file_op *op, int in_fd, const struct file_place *place,
				   const struct stat *old)
{
	int fd = file_temp_open(place->dir);
	int64_t size;

	if (fd < 0 && old && takes_no_name(errno))
		write_in_place(op, in_fd);
	if (fd < 0)
		file_refuse(errno);
	size = take_content(in_fd, fd);
	if (file_dress(fd, old, op->mode) || file_set_attributes(fd, op))
		file_refuse(errno);
	if (file_temp_commit(place->name) == 0)
		finish(size, 1);
	if ((errno != EBUSY && errno != EXDEV) || lseek(fd, 0, SEEK_SET) < 0)
		file_refuse(errno);
	write_in_place(op, fd);
}

/* Watchers see the name being made, its mode set and its content written. */
static _Noreturn void write_new(const struct file_op *op, int in_fd, const struct file_place *place)
{
	int fd = openat(place->dir, place->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int64_t size;

	if (fd < 0)
		file_refuse(errno);
	if (file_dress(fd, NULL, op->mode))
		file_refuse(errno);
	size = take_content(in_fd, fd);
	if (file_set_attributes(fd, op) || close(fd))
		file_refuse(errno);
	finish(size, 0);
}

_Noreturn void file_write(const struct file_op *op, int in_fd)
{
	int probe = file_open(op->path, O_PATH);
	struct file_place place;
	struct stat seen, old;

	file_check_prefix(op);
	if (op->mode != NO_MODE && op->mode > MODE_BITS)
		file_refuse(EINVAL);
	if (probe < 0 && errno != ENOENT)
		file_refuse(errno);
	if (probe >= 0 && fstat(probe, &seen))
		file_refuse(errno);
	if (probe >= 0 && S_ISDIR(seen.st_mode))
		file_refuse(EISDIR);
	if (probe >= 0 && !S_ISREG(seen.st_mode))
		write_in_place(op, in_fd);
	if (file_place_at(&place, AT_FDCWD, op->path, op->flag & 1) || file_place_follow(&place))
		file_refuse(errno);
	if (fstatat(place.dir, place.name, &old, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			file_refuse(errno);
		/* /proc/self/fd/N is not a real link: its text need not be its target. */
		if (probe >= 0)
			write_in_place(op, in_fd);
		if (op->flag & IN_PLACE)
			write_new(op, in_fd, &place);
		write_beside(op, in_fd, &place, NULL);
	}
	if (op->flag & IN_PLACE)
		write_in_place(op, in_fd);
	if (probe >= 0 && (old.st_dev != seen.st_dev || old.st_ino != seen.st_ino))
		write_in_place(op, in_fd);
	write_beside(op, in_fd, &place, &old);
}
