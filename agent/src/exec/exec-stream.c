/* The stream of an exec: opening it starts the exec; then come the host's input, keys and end of input, and the
 * close. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "exec/exec.h"
#include "exec/execs.h"
#include "exec/foreground.h"

#define TIMEOUT_US 1000ULL

static const struct serve_options *options;

void exec_init(const struct serve_options *given)
{
	options = given;
}

static int open_planned(struct stream *stream, const struct exec_plan *plan)
{
	bool detached = (plan->flags & (EXEC_DETACH | EXEC_KEYED | EXEC_KEEP)) != 0;
	struct exec *first = plan->body ? execs_find_kept(plan->id, stream->uid) : NULL;
	int error = first ? 0 : execs_admit(plan->id, detached);
	struct exec *exec = error || first ? NULL : exec_make(plan);

	if (first)
		return exec_repeat(stream, first, plan);
	if (!exec)
		return error ? error : ENOMEM;
	exec->child.uid = stream->uid;
	error = exec_start(exec, plan, stream->account, options);
	if (error) {
		exec_free(exec);
		return error;
	}
	stream->work = exec;
	exec->stream = exec->in.stream = stream;
	execs_add(exec);
	if (plan->timeout_ms)
		timer_set(&exec->deadline, plan->timeout_ms * TIMEOUT_US);
	return 0;
}

static int open_exec(struct stream *stream, struct reader *arguments)
{
	struct exec_plan plan;
	int error = exec_plan_read(&plan, arguments, options->env);

	if (!error)
		error = open_planned(stream, &plan);
	free(plan.room);
	return error;
}

/* Signal keys that a kernel's terminal would handle are not input. */
static size_t take_keys(struct exec *exec, struct stream *own, const uint8_t *bytes, size_t size)
{
	struct foreground_keys keys = foreground_keys(exec->master);
	size_t start = 0;

	for (size_t at = 0; at < size; at++) {
		int number = foreground_key_signal(&keys, bytes[at]);

		if (!number)
			continue;
		fd_writer_data(&exec->in, bytes + start, at - start);
		if (!keys.keep_input)
			foreground_flush(exec->slave);
		foreground_signal(exec->foreground, number);
		if (own)
			stream_took(own, 1);
		start = at + 1;
	}
	return start;
}

/* The writer gives credit to one stream. From the first input of another on, each gets it at once, and the bytes that
 * wait are bounded here. Returns false when there are too many. */
static bool share_input(struct exec *exec, struct stream *from, size_t size)
{
	size_t waiting = exec->in.end - exec->in.start;

	if (exec->in.stream)
		stream_took(exec->in.stream, waiting);
	exec->in.stream = NULL;
	if (waiting + size > WIDE_CREDIT)
		return false;
	stream_took(from, size);
	return true;
}

void exec_input(struct exec *exec, struct stream *from, const uint8_t *bytes, size_t size)
{
	bool is_own = from == exec->in.stream;
	size_t taken;

	if (!is_own && !share_input(exec, from, size)) {
		stream_fail(from, EAGAIN);
		return;
	}
	taken = exec->foreground < 0 || exec->master < 0 ? 0 : take_keys(exec, is_own ? from : NULL, bytes, size);
	if (size > 0)
		exec->line_is_open = bytes[size - 1] != '\n';
	fd_writer_data(&exec->in, bytes + taken, size - taken);
}

/* A terminal signals the end of input by a character, which in the middle of a line only submits that line. */
void exec_input_end(struct exec *exec)
{
	uint8_t ends[2];

	if (exec->master < 0) {
		fd_writer_eof(&exec->in);
		return;
	}
	ends[0] = ends[1] = pty_end_character(exec->master);
	fd_writer_data(&exec->in, ends, exec->line_is_open ? 2 : 1);
}

static void exec_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	exec_input(stream->work, stream, bytes, size);
}

static void exec_eof(struct stream *stream)
{
	exec_input_end(stream->work);
}

/* Nobody waits for it now: its output is kept as that of a detached one. */
static void leave(struct exec *exec)
{
	exec->stream = exec->in.stream = NULL;
	exec->detached = true;
}

static void exec_cancel(struct stream *stream)
{
	struct exec *exec = stream->work;

	if (exec->note) {
		leave(exec);
		stream->work = NULL;
		stream_fail(stream, ECANCELED);
		return;
	}
	exec->cancelled = true;
	kill_start(&exec->kill);
}

/* An exec that ended its stream itself loses nothing; one without a stream belonged to a session that has ended. */
static void exec_gone(struct stream *stream)
{
	struct exec *exec = stream->work;

	if (!exec)
		return;
	exec->stream = exec->in.stream = NULL;
	if (exec->ended || exec->detached)
		return;
	if (exec->note) {
		leave(exec);
		return;
	}
	exec->cancelled = true;
	kill_start(&exec->kill);
}

const struct stream_kind exec_kind = {
	.open = open_exec,
	.data = exec_data,
	.eof = exec_eof,
	.cancel = exec_cancel,
	.gone = exec_gone,
	.takes_account = true,
};
