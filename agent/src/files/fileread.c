/* Reads a file: first its metadata, then its bytes. Only regular files: opening a FIFO or a device could block for ever
 * or have effects, so the type is checked before the file is opened. Kernel files (/proc, /sys) report size 0 and are
 * read to their end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "files/filework.h"

static void check_kind(const struct stat *facts)
{
	if (S_ISDIR(facts->st_mode))
		file_refuse(EISDIR);
	if (!S_ISREG(facts->st_mode))
		file_refuse(EINVAL);
}

static int open_regular(const char *path, struct stat *facts)
{
	int fd = file_open(path, O_PATH);

	if (fd < 0 || fstat(fd, facts))
		file_refuse(errno);
	check_kind(facts);
	close(fd);
	fd = file_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, facts))
		file_refuse(errno);
	check_kind(facts);
	return fd;
}

static void send_info(const char *path, const struct stat *facts)
{
	struct file_bytes info = { 0 };

	file_put_info(&info, path, -1, "", facts);
	file_send(&info);
}

/* Copies within the kernel; -1 when this file or this pipe does not support it. */
static int send_by_kernel(int fd, int out_fd, uint64_t *sent, uint64_t length)
{
	while (*sent < length) {
		uint64_t left = length - *sent;
		ssize_t moved = sendfile(out_fd, fd, NULL, left < (1 << 30) ? (size_t)left : 1 << 30);

		if (moved < 0 && errno == EPIPE)
			file_quit();
		if (moved < 0)
			return -1;
		if (moved == 0)
			return 0;
		*sent += (uint64_t)moved;
	}
	return 0;
}

static void send_by_copy(int fd, int out_fd, uint64_t *sent, uint64_t length)
{
	static char piece[FILE_PIECE];

	while (*sent < length) {
		uint64_t left = length - *sent;
		ssize_t got = read(fd, piece, left < sizeof(piece) ? (size_t)left : sizeof(piece));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			file_refuse(errno);
		if (got == 0)
			break;
		if (file_write_whole(out_fd, piece, (size_t)got))
			file_quit();
		*sent += (uint64_t)got;
	}
}

/* Seeks to the offset, or reports that nothing is there. A file that reports size 0 may be a kernel file. */
static int seek(int fd, uint64_t offset, const struct stat *facts)
{
	if (facts->st_size > 0 && offset >= (uint64_t)facts->st_size)
		return 0;
	return offset == 0 || (offset <= INT64_MAX && lseek(fd, (off_t)offset, SEEK_SET) >= 0);
}

_Noreturn void file_read(const struct file_op *op, int out_fd)
{
	struct file_bytes result = { 0 };
	struct stat facts;
	int fd = open_regular(op->path, &facts);
	uint64_t sent = 0;

	send_info(op->path, &facts);
	fcntl(out_fd, F_SETPIPE_SZ, 1 << 20);
	if (seek(fd, op->offset, &facts) && (facts.st_size == 0 || send_by_kernel(fd, out_fd, &sent, op->length)))
		send_by_copy(fd, out_fd, &sent, op->length);
	file_put_u64(&result, sent);
	file_finish(&result);
}
