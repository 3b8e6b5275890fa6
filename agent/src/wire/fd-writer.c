/* Writes a stream's bytes into a descriptor. */
#include "wire/fd-writer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static short want(struct watch *watch)
{
	struct fd_writer *writer = container_of(watch, struct fd_writer, watch);

	return writer->end > writer->start ? POLLOUT : 0;
}

static void took(struct fd_writer *writer, size_t size)
{
	if (writer->stream)
		stream_took(writer->stream, size);
}

static void finish(struct fd_writer *writer, int error)
{
	fd_writer_stop(writer);
	writer->done(writer, error);
}

/* Returns the number of bytes written; -1: the descriptor is finished, and `done` was called. */
static ssize_t put(struct fd_writer *writer, const uint8_t *bytes, size_t size)
{
	ssize_t written = write(writer->watch.fd, bytes, size);

	if (written < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (written < 0)
		finish(writer, errno);
	else
		took(writer, (size_t)written);
	return written;
}

static void ready(struct watch *watch, short events)
{
	struct fd_writer *writer = container_of(watch, struct fd_writer, watch);
	ssize_t written = put(writer, writer->bytes + writer->start, writer->end - writer->start);

	(void)events;
	if (written < 0)
		return;
	writer->start += (size_t)written;
	if (writer->start < writer->end)
		return;
	writer->start = writer->end = 0;
	if (writer->ends)
		finish(writer, 0);
}

void fd_writer_open(struct fd_writer *writer, int fd)
{
	writer->watch = (struct watch){ .fd = fd, .want = want, .ready = ready };
	if (fd >= 0)
		watch_add(&writer->watch);
}

static bool make_room(struct fd_writer *writer, size_t size)
{
	size_t room = writer->room ? writer->room : 4096;
	uint8_t *grown;

	if (writer->start > 0) {
		memmove(writer->bytes, writer->bytes + writer->start, writer->end - writer->start);
		writer->end -= writer->start;
		writer->start = 0;
	}
	while (room < writer->end + size)
		room *= 2;
	grown = room > writer->room ? realloc(writer->bytes, room) : writer->bytes;
	if (!grown)
		return false;
	writer->bytes = grown;
	writer->room = room;
	return true;
}

void fd_writer_data(struct fd_writer *writer, const uint8_t *bytes, size_t size)
{
	ssize_t written = 0;

	if (writer->watch.fd < 0 || writer->ends) {
		took(writer, size);
		return;
	}
	if (writer->start == writer->end)
		written = put(writer, bytes, size);
	if (written < 0) {
		took(writer, size);
		return;
	}
	bytes += written;
	size -= (size_t)written;
	if (size > 0 && writer->room - writer->end < size && !make_room(writer, size)) {
		finish(writer, ENOMEM);
		return;
	}
	if (size > 0)
		memcpy(writer->bytes + writer->end, bytes, size);
	writer->end += size;
}

void fd_writer_eof(struct fd_writer *writer)
{
	if (writer->watch.fd < 0 || writer->ends)
		return;
	writer->ends = true;
	if (writer->start == writer->end)
		finish(writer, 0);
}

void fd_writer_stop(struct fd_writer *writer)
{
	watch_remove(&writer->watch);
	writer->watch.fd = -1;
	took(writer, writer->end - writer->start);
	free(writer->bytes);
	writer->bytes = NULL;
	writer->start = writer->end = writer->room = 0;
}
