/* Bytes on their way into a descriptor. */
#include "inflow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static short want(struct watch *watch)
{
	struct inflow *inflow = container_of(watch, struct inflow, watch);

	return inflow->end > inflow->start ? POLLOUT : 0;
}

static void took(struct inflow *inflow, size_t size)
{
	if (inflow->stream)
		stream_took(inflow->stream, size);
}

static void finish(struct inflow *inflow, int error)
{
	inflow_stop(inflow);
	inflow->done(inflow, error);
}

/* The number of bytes taken; -1: the descriptor is finished, and `done` was called. */
static ssize_t put(struct inflow *inflow, const uint8_t *bytes, size_t size)
{
	ssize_t written = write(inflow->watch.fd, bytes, size);

	if (written < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (written < 0)
		finish(inflow, errno);
	else
		took(inflow, (size_t)written);
	return written;
}

static void ready(struct watch *watch, short events)
{
	struct inflow *inflow = container_of(watch, struct inflow, watch);
	ssize_t written = put(inflow, inflow->bytes + inflow->start, inflow->end - inflow->start);

	(void)events;
	if (written < 0)
		return;
	inflow->start += (size_t)written;
	if (inflow->start < inflow->end)
		return;
	inflow->start = inflow->end = 0;
	if (inflow->ends)
		finish(inflow, 0);
}

void inflow_open(struct inflow *inflow, int fd)
{
	inflow->watch = (struct watch){ .fd = fd, .want = want, .ready = ready };
	if (fd >= 0)
		watch_add(&inflow->watch);
}

static bool make_room(struct inflow *inflow, size_t size)
{
	size_t room = inflow->room ? inflow->room : 4096;
	uint8_t *grown;

	if (inflow->start > 0) {
		memmove(inflow->bytes, inflow->bytes + inflow->start, inflow->end - inflow->start);
		inflow->end -= inflow->start;
		inflow->start = 0;
	}
	while (room < inflow->end + size)
		room *= 2;
	grown = room > inflow->room ? realloc(inflow->bytes, room) : inflow->bytes;
	if (!grown)
		return false;
	inflow->bytes = grown;
	inflow->room = room;
	return true;
}

void inflow_data(struct inflow *inflow, const uint8_t *bytes, size_t size)
{
	ssize_t written = 0;

	if (inflow->watch.fd < 0 || inflow->ends) {
		took(inflow, size);
		return;
	}
	if (inflow->start == inflow->end)
		written = put(inflow, bytes, size);
	if (written < 0) {
		took(inflow, size);
		return;
	}
	bytes += written;
	size -= (size_t)written;
	if (size > 0 && inflow->room - inflow->end < size && !make_room(inflow, size)) {
		finish(inflow, ENOMEM);
		return;
	}
	if (size > 0)
		memcpy(inflow->bytes + inflow->end, bytes, size);
	inflow->end += size;
}

void inflow_eof(struct inflow *inflow)
{
	if (inflow->watch.fd < 0 || inflow->ends)
		return;
	inflow->ends = true;
	if (inflow->start == inflow->end)
		finish(inflow, 0);
}

void inflow_stop(struct inflow *inflow)
{
	watch_remove(&inflow->watch);
	inflow->watch.fd = -1;
	took(inflow, inflow->end - inflow->start);
	free(inflow->bytes);
	inflow->bytes = NULL;
	inflow->start = inflow->end = inflow->room = 0;
}
