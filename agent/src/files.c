/* File work: what the host asked for, the child that does it, and what it says. Everything of a child is told before
 * its last word is. */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"

#define CALLS_AT_ONCE 64
/* Above what file_child() takes, which refuses by itself. */
#define PATHS_MAX 8192
/* A tree that is being moved is taken away again first, which may take a while. */
#define IMPATIENCE_US 10000000

static struct work *waiting;
static size_t calls_running;

static bool is_call(const struct work *work)
{
	return work->op.kind >= FILE_STAT;
}

static void forget(struct work *work)
{
	timer_stop(&work->impatience);
	work->in.stream = NULL;
	inflow_stop(&work->in);
	watch_remove(&work->out);
	watch_remove(&work->meta);
	close_end(&work->in_fd);
	close_end(&work->out.fd);
	close_end(&work->meta.fd);
	free(work->message);
	free(work->info);
	free(work->last);
	free(work->paths);
	free(work);
}

/* ---- what it says */

static void tell(struct stream *stream, const struct work *work)
{
	const uint8_t *last = work->last;

	if (work->cancelled)
		stream_fail(stream, ECANCELED);
	else if (last && last[0] == FRAME_RESULT)
		stream_result(stream, last + 1, work->last_size - 1);
	else if (last && work->last_size >= 5)
		stream_fail(stream, (int)(load_u32(last + 1) & 0x7fffffff));
	else
		stream_fail(stream, EIO);
}

static void settle(struct work *work)
{
	struct stream *stream = work->stream;
	bool wanted = stream && !work->cancelled;

	if (!work->child.ended)
		return;
	if (wanted && (work->out.fd >= 0 || work->meta.fd >= 0 || work->info_sent < work->info_size))
		return;
	calls_running -= is_call(work);
	if (stream) {
		work->in.stream = NULL;
		stream->work = NULL;
		tell(stream, work);
	}
	forget(work);
}

static void on_child_end(struct child *child)
{
	settle(container_of(child, struct work, child));
}

static void close_watch(struct watch *watch)
{
	watch_remove(watch);
	close_end(&watch->fd);
}

static short want_out(struct watch *watch)
{
	struct work *work = container_of(watch, struct work, out);
	bool announced = work->op.kind != FILE_READ || (work->info && work->info_sent == work->info_size);

	if (!work->stream || work->cancelled)
		return 0;
	/* Without an announcement the end is still to be seen: the child refused. */
	if (!announced)
		return work->child.ended && work->meta.fd < 0 ? POLLIN : 0;
	return stream_room(work->stream) > 0 ? POLLIN : 0;
}

static void out_ready(struct watch *watch, short events)
{
	struct work *work = container_of(watch, struct work, out);
	size_t size = DATA_MAX;
	uint8_t *bytes = stream_reserve(work->stream, &size);
	ssize_t got = bytes ? read(watch->fd, bytes, size) : -1;

	(void)events;
	if (bytes)
		stream_commit(work->stream, work->op.kind == FILE_READ, got > 0 ? (size_t)got : 0);
	if (got != 0)
		return;
	close_watch(watch);
	settle(work);
}

static short want_meta(struct watch *watch)
{
	struct work *work = container_of(watch, struct work, meta);

	return work->stream && !work->cancelled ? POLLIN : 0;
}

static void meta_ready(struct watch *watch, short events)
{
	struct work *work = container_of(watch, struct work, meta);
	ssize_t got = read(watch->fd, work->message + work->message_size, MESSAGE_MAX - work->message_size);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		work->message_size += (size_t)got;
	if (got > 0 && work_messages(work) == 0)
		return;
	close_watch(watch);
	settle(work);
}

void work_pump(struct stream *stream)
{
	struct work *work = stream->work;
	size_t left = work->info_size - work->info_sent;

	if (left == 0)
		return;
	work->info_sent += stream_send(stream, 0, work->info + work->info_sent, left);
	if (work->info_sent == work->info_size)
		settle(work);
}

/* ---- starting and ending */

static void input_done(struct inflow *inflow, int error)
{
	struct work *work = container_of(inflow, struct work, in);

	(void)error;
	/* Its end commits the write: the child of a cancelled one must never see it. */
	if (!work->cancelled)
		close_end(&work->in_fd);
}

static int begin(struct work *work)
{
	int error;

	work->message = malloc(MESSAGE_MAX);
	error = work->message ? work_fork(work) : ENOMEM;
	if (error)
		return error;
	calls_running += is_call(work);
	work->out.want = want_out;
	work->out.ready = out_ready;
	work->meta.want = want_meta;
	work->meta.ready = meta_ready;
	watch_add(&work->meta);
	if (work->out.fd >= 0)
		watch_add(&work->out);
	work->in.done = input_done;
	inflow_open(&work->in, work->in_fd);
	return 0;
}

static void take_from_waiting(struct work *work)
{
	struct work **at = &waiting;

	while (*at && *at != work)
		at = &(*at)->next;
	if (*at)
		*at = work->next;
}

void files_start_waiting(void)
{
	while (waiting && calls_running < CALLS_AT_ONCE) {
		struct work *work = waiting;
		struct stream *stream = work->stream;
		int error;

		waiting = work->next;
		error = begin(work);
		if (!error)
			continue;
		stream->work = NULL;
		stream_fail(stream, error);
		forget(work);
	}
}

static void wait_for_turn(struct work *work)
{
	struct work **at = &waiting;

	while (*at)
		at = &(*at)->next;
	*at = work;
}

static void on_impatience(struct timer *timer)
{
	kill(container_of(timer, struct work, impatience)->child.pid, SIGKILL);
}

static void end_child(struct work *work)
{
	if (work->child.ended)
		return;
	kill(work->child.pid, SIGTERM);
	work->impatience.fire = on_impatience;
	timer_set(&work->impatience, IMPATIENCE_US);
}

void work_cancel(struct stream *stream)
{
	struct work *work = stream->work;

	if (!work->runs) {
		stream_fail(stream, ECANCELED);
		return;
	}
	work->cancelled = true;
	end_child(work);
	settle(work);
}

void work_gone(struct stream *stream)
{
	struct work *work = stream->work;

	if (!work)
		return;
	stream->work = NULL;
	work->stream = work->in.stream = NULL;
	if (!work->runs) {
		take_from_waiting(work);
		forget(work);
		return;
	}
	work->cancelled = true;
	end_child(work);
	settle(work);
}

void work_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct work *work = stream->work;

	inflow_data(&work->in, bytes, size);
}

void work_eof(struct stream *stream)
{
	struct work *work = stream->work;

	inflow_eof(&work->in);
}

static int copy_paths(struct work *work)
{
	size_t one = strlen(work->op.path) + 1, two = work->op.path2 ? strlen(work->op.path2) + 1 : 0;

	if (one > PATHS_MAX || two > PATHS_MAX)
		return ENAMETOOLONG;
	work->paths = malloc(one + two);
	if (!work->paths)
		return ENOMEM;
	memcpy(work->paths, work->op.path, one);
	if (two)
		memcpy(work->paths + one, work->op.path2, two);
	work->op.path = work->paths;
	work->op.path2 = two ? work->paths + one : NULL;
	return 0;
}

static int launch(struct work *work)
{
	int error = copy_paths(work);

	if (error)
		return error;
	if (!is_call(work) || calls_running < CALLS_AT_ONCE)
		return begin(work);
	wait_for_turn(work);
	return 0;
}

int work_open(struct stream *stream, const struct file_op *op)
{
	struct work *work = calloc(1, sizeof(*work));
	int error;

	if (!work)
		return ENOMEM;
	work->op = *op;
	work->in_fd = work->out.fd = work->meta.fd = work->in.watch.fd = -1;
	work->child.on_end = on_child_end;
	work->stream = stream;
	work->in.stream = stream;
	error = launch(work);
	if (error) {
		forget(work);
		return error;
	}
	stream->work = work;
	return 0;
}
