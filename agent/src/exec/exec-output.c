/* The outputs of an exec: to the host's stream within its credit, to the ring and the console when detached, discarded
 * when nobody waits. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "exec/exec.h"

/* A program that writes much in small pieces would cost a frame for each of them, and the host more than for its bytes. A
 * busy pipe that had little is therefore left alone for a moment; it holds what comes meanwhile. */
#define LITTLE (DATA_MAX / 2)
#define REST_US 500

static struct exec *exec_of(struct output *output)
{
	struct output *first = output - (output->channel == 2);

	return container_of(first, struct exec, outputs);
}

static struct stream *listener(const struct exec *exec)
{
	return exec->detached || exec->cancelled ? NULL : exec->stream;
}

static short want(struct watch *watch)
{
	struct exec *exec = exec_of(container_of(watch, struct output, watch));
	struct stream *stream = listener(exec);

	if (!exec->started || container_of(watch, struct output, watch)->rest.link)
		return 0;
	return stream && stream_room(stream) == 0 ? 0 : POLLIN;
}

static void close_output(struct output *output)
{
	struct exec *exec = exec_of(output);

	if (output->watch.fd < 0)
		return;
	watch_remove(&output->watch);
	pipe_room_leave(&output->room);
	timer_stop(&output->rest);
	/* A terminal is one descriptor for both directions. */
	if (output->watch.fd == exec->master) {
		fd_writer_stop(&exec->in);
		exec->master = -1;
	}
	close(output->watch.fd);
	output->watch.fd = -1;
	if (output->lines)
		console_flush(output->lines, exec->id);
	free(output->lines);
	output->lines = NULL;
}

/* Returns the bytes read, 0 at the end, -1 when there are none now. A terminal reports its end as EIO. */
static ssize_t read_some(struct output *output, uint8_t *bytes, size_t size)
{
	ssize_t got;

	if (output->bounded && size > output->left)
		size = output->left;
	got = read(output->watch.fd, bytes, size);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	if (output->bounded)
		output->left -= (size_t)got;
	return got;
}

static ssize_t to_stream(struct output *output, struct stream *stream)
{
	struct exec *exec = exec_of(output);
	size_t size = DATA_FULL;
	uint8_t *bytes = stream_reserve(stream, &size);
	ssize_t got = bytes ? read_some(output, bytes, size) : -1;

	/* Views of one that is kept and has its stream. */
	if (got > 0 && exec->views > 0)
		output_ring_put(exec, output->channel, bytes, (size_t)got);
	stream_commit(stream, output->channel, got > 0 ? (size_t)got : 0);
	if (got <= 0)
		return got;
	pipe_room_carried(&output->room, output->watch.fd, (size_t)got);
	if (output->room.is_wide && (size_t)got < size && got < LITTLE)
		timer_set(&output->rest, REST_US);
	return got;
}

static ssize_t to_ourselves(struct output *output)
{
	static uint8_t bytes[16384];
	struct exec *exec = exec_of(output);
	ssize_t got = read_some(output, bytes, sizeof(bytes));

	if (got > 0 && exec->detached) {
		output_ring_put(exec, output->channel, bytes, (size_t)got);
		if (output->lines)
			console_feed(output->lines, exec->id, bytes, (size_t)got);
	}
	return got;
}

static void ready(struct watch *watch, short events)
{
	struct output *output = container_of(watch, struct output, watch);
	struct exec *exec = exec_of(output);
	struct stream *stream = listener(exec);
	ssize_t got = stream ? to_stream(output, stream) : to_ourselves(output);

	(void)events;
	if (got != 0 && !(output->bounded && output->left == 0))
		return;
	close_output(output);
	exec_settle(exec);
}

static void rested(struct timer *timer)
{
	(void)timer;
}

void output_open(struct output *output, int fd, uint8_t channel)
{
	*output = (struct output){ .channel = channel };
	output->watch = (struct watch){ .fd = fd, .want = want, .ready = ready };
	output->rest.fire = rested;
	if (fd < 0)
		return;
	/* Without memory, the console misses this output. */
	if (exec_of(output)->speaks)
		output->lines = calloc(1, sizeof(*output->lines));
	if (output->lines)
		output->lines->uid = exec_of(output)->child.uid;
	watch_add(&output->watch);
}

bool outputs_are_open(const struct exec *exec)
{
	return exec->outputs[0].watch.fd >= 0 || exec->outputs[1].watch.fd >= 0;
}

void outputs_bound(struct exec *exec)
{
	for (int i = 0; i < 2; i++) {
		struct output *output = &exec->outputs[i];
		int left = 0;

		if (output->watch.fd < 0 || output->bounded)
			continue;
		if (ioctl(output->watch.fd, FIONREAD, &left) || left <= 0)
			close_output(output);
		output->bounded = true;
		output->left = (size_t)left;
	}
}

void outputs_close(struct exec *exec)
{
	for (int i = 0; i < 2; i++)
		close_output(&exec->outputs[i]);
}
