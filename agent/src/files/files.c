/* File work: the request of the host, the child that does it, and its messages. All messages of a child are sent on
 * before its last one. */
#define _GNU_SOURCE
#include "files/files.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/user.h"

/* A cancelled move first removes the tree it was building, which may take a while. */
#define IMPATIENCE_US 10000000

void work_forget(struct work *work)
{
	timer_stop(&work->impatience);
	work->in.stream = NULL;
	fd_writer_stop(&work->in);
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

/* ---- messages of the child */

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
	work_turn_over(work);
	if (stream) {
		work->in.stream = NULL;
		stream->work = NULL;
		tell(stream, work);
	}
	work_forget(work);
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

/* Its output is content on channel 1, after the info on channel 0. */
static bool has_content(const struct work *work)
{
	return work->op.kind == FILE_READ || work->op.kind == FILE_PACK;
}

static short want_out(struct watch *watch)
{
	struct work *work = container_of(watch, struct work, out);
	bool announced = !has_content(work) || (work->info && work->info_sent == work->info_size);

	if (!work->stream || work->cancelled)
		return 0;
	/* Without an announcement the child has refused; its exit status says so. */
	if (!announced)
		return work->child.ended && work->meta.fd < 0 ? POLLIN : 0;
	return stream_room(work->stream) > 0 ? POLLIN : 0;
}

static void out_ready(struct watch *watch, short events)
{
	struct work *work = container_of(watch, struct work, out);
	size_t size = DATA_FULL;
	uint8_t *bytes = stream_reserve(work->stream, &size);
	ssize_t got = bytes ? read(watch->fd, bytes, size) : -1;

	(void)events;
	if (bytes)
		stream_commit(work->stream, has_content(work), got > 0 ? (size_t)got : 0);
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

/* ---- start and end */

static void input_done(struct fd_writer *writer, int error)
{
	struct work *work = container_of(writer, struct work, in);

	(void)error;
	/* EOF commits the write: the child of a cancelled one must never see it. */
	if (!work->cancelled)
		close_end(&work->in_fd);
}

int work_begin(struct work *work)
{
	int error;

	work->child.on_end = on_child_end;
	work->message = malloc(MESSAGE_MAX);
	error = work->message ? work_fork(work) : ENOMEM;
	if (error)
		return error;
	work->out.want = want_out;
	work->out.ready = out_ready;
	work->meta.want = want_meta;
	work->meta.ready = meta_ready;
	watch_add(&work->meta);
	if (work->out.fd >= 0)
		watch_add(&work->out);
	work->in.done = input_done;
	fd_writer_open(&work->in, work->in_fd);
	return 0;
}

static void on_impatience(struct timer *timer)
{
	const struct child *child = &container_of(timer, struct work, impatience)->child;

	user_kill(child->uid, child->pid, SIGKILL);
}

static void end_child(struct work *work)
{
	if (work->child.ended)
		return;
	user_kill(work->child.uid, work->child.pid, SIGTERM);
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
		work_leave_queue(work);
		work_forget(work);
		return;
	}
	work->cancelled = true;
	end_child(work);
	settle(work);
}

void work_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct work *work = stream->work;

	fd_writer_data(&work->in, bytes, size);
}

void work_eof(struct stream *stream)
{
	struct work *work = stream->work;

	fd_writer_eof(&work->in);
}
