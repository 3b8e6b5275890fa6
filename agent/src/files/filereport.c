/* The messages of a file operation to the agent, and the end of its process. Every exit removes the temporary file
 * first. If the parent no longer reads, the process exits quietly. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

enum { FRAME_DATA = 4, FRAME_RESULT = 17, FRAME_ERROR = 18 };

static int meta = -1;
static pid_t parent;

void file_report_to(int meta_fd)
{
	meta = meta_fd;
	parent = getppid();
}

void *file_more(void *old, size_t size)
{
	void *more = realloc(old, size ? size : 1);

	if (!more)
		file_refuse(ENOMEM);
	return more;
}

static uint8_t *room_for(struct file_bytes *bytes, size_t more)
{
	if (bytes->size + more > bytes->room) {
		bytes->room = (bytes->size + more) * 2;
		bytes->at = file_more(bytes->at, bytes->room);
	}
	bytes->size += more;
	return bytes->at + bytes->size - more;
}

static void put_number(struct file_bytes *bytes, uint64_t value, size_t size)
{
	uint8_t *at = room_for(bytes, size);

	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

void file_put_u8(struct file_bytes *bytes, uint8_t value)
{
	put_number(bytes, value, 1);
}

void file_put_u32(struct file_bytes *bytes, uint32_t value)
{
	put_number(bytes, value, 4);
}

void file_put_u64(struct file_bytes *bytes, uint64_t value)
{
	put_number(bytes, value, 8);
}

void file_put_bytes(struct file_bytes *bytes, const void *from, size_t size)
{
	if (size)
		memcpy(room_for(bytes, size), from, size);
}

void file_put_str(struct file_bytes *bytes, const char *text, size_t size)
{
	file_put_u32(bytes, (uint32_t)size);
	file_put_bytes(bytes, text, size);
}

int file_write_whole(int fd, const void *from, size_t size)
{
	const uint8_t *at = from;

	while (size > 0) {
		ssize_t written = write(fd, at, size);

		if (written < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };
			poll(&wait, 1, -1);
			continue;
		}
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

void file_flush(struct file_bytes *bytes, int fd)
{
	if (file_write_whole(fd, bytes->at, bytes->size))
		file_quit();
	bytes->size = 0;
}

static int send_message(uint8_t type, const struct file_bytes *head, const struct file_bytes *content)
{
	struct file_bytes frame = { 0 };
	size_t head_size = head ? head->size : 0, content_size = content ? content->size : 0;
	int status;

	file_put_u32(&frame, (uint32_t)(1 + head_size + content_size));
	file_put_u8(&frame, type);
	if (head_size)
		memcpy(room_for(&frame, head_size), head->at, head_size);
	if (content_size)
		memcpy(room_for(&frame, content_size), content->at, content_size);
	status = file_write_whole(meta, frame.at, frame.size);
	free(frame.at);
	return status;
}

void file_send(const struct file_bytes *content)
{
	uint8_t channel = 0;
	struct file_bytes head = { .at = &channel, .size = 1, .room = 1 };

	if (send_message(FRAME_DATA, &head, content))
		file_quit();
}

_Noreturn void file_finish(const struct file_bytes *content)
{
	file_temp_discard();
	_exit(send_message(FRAME_RESULT, NULL, content) ? 1 : 0);
}

/* Allocates no memory, because it also reports ENOMEM. */
_Noreturn void file_refuse(int error)
{
	static uint8_t room[256];
	struct file_bytes frame = { .at = room, .room = sizeof(room) };
	const char *text = strerror(error);
	size_t size = strnlen(text, 200);

	file_temp_discard();
	file_put_u32(&frame, (uint32_t)(1 + 4 + 4 + size));
	file_put_u8(&frame, FRAME_ERROR);
	file_put_u32(&frame, (uint32_t)error);
	file_put_str(&frame, text, size);
	file_write_whole(meta, frame.at, frame.size);
	_exit(1);
}

_Noreturn void file_quit(void)
{
	file_temp_discard();
	_exit(1);
}

_Noreturn void file_finish_walk(struct file_bytes *records, int out_fd, uint32_t count, int truncated)
{
	struct file_bytes result = { 0 };

	file_flush(records, out_fd);
	file_put_u32(&result, count);
	file_put_u8(&result, truncated ? 1 : 0);
	file_finish(&result);
}

int file_parent_gone(void)
{
	struct pollfd reader = { .fd = meta };

	return getppid() != parent || (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR));
}
