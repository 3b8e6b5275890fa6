/* Attaches to an exec: sends its kept output, then what follows. A view that is too slow misses what the ring has
 * dropped; it never slows the exec. The view of one that is kept (`resume`) also takes its input. */
#include <errno.h>
#include <stdlib.h>

#include "exec/execs.h"

struct view {
	struct exec *exec;
	struct ring_place place;
	uint64_t until; /* UINT64_MAX while it follows */
	bool told;      /* whether output is missing */
	bool resumes;   /* what it has shown is not shown again */
};

static int make_view(struct stream *stream, struct exec *exec, uint64_t until)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view)
		return ENOMEM;
	view->exec = exec;
	view->until = until;
	exec->views++;
	stream->work = view;
	return 0;
}

static int open_view(struct stream *stream, struct reader *arguments)
{
	const char *id = read_text(arguments);
	bool follow = read_u8(arguments) != 0;
	struct exec *exec = reader_done(arguments) ? execs_find_for(id, stream->uid) : NULL;

	if (arguments->bad)
		return EINVAL;
	/* An exec that has not started yet may never start. */
	if (!exec || (!exec->started && !exec->ended))
		return ENOENT;
	/* Its output goes to the host that started it and is not kept. */
	if (!exec->detached && !exec->ended)
		return EINVAL;
	return make_view(stream, exec, follow ? UINT64_MAX : exec->tail.end);
}

/* What its own stream has sent already is not sent a second time. */
static int open_resumed(struct stream *stream, struct reader *arguments)
{
	const char *id = read_text(arguments);
	struct exec *exec = reader_done(arguments) ? execs_find_for(id, stream->uid) : NULL;
	struct view *view;
	struct ring_piece piece;
	int error;

	if (arguments->bad)
		return EINVAL;
	if (!exec || !exec->note || (!exec->started && !exec->ended))
		return ENOENT;
	error = make_view(stream, exec, UINT64_MAX);
	if (error)
		return error;
	view = stream->work;
	view->resumes = true;
	if (exec->detached)
		return 0;
	while ((piece = ring_peek(&exec->tail, &view->place, UINT64_MAX)).size > 0)
		ring_skip(&view->place, piece.size);
	return 0;
}

static void input_of_view(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct view *view = stream->work;

	exec_input(view->exec, stream, bytes, size);
}

static void input_ends(struct stream *stream)
{
	struct view *view = stream->work;

	exec_input_end(view->exec);
}

static bool send_rest(struct stream *stream, struct view *view)
{
	struct ring *tail = &view->exec->tail;
	struct ring_piece piece;

	while ((piece = ring_peek(tail, &view->place, view->until)).size > 0) {
		size_t sent = stream_send(stream, piece.channel, piece.bytes, piece.size);

		ring_skip(&view->place, sent);
		if (sent < piece.size)
			return false;
	}
	return true;
}

static void pump_view(struct stream *stream)
{
	struct view *view = stream->work;
	/* An exec that ended with its stream kept nothing. */
	uint8_t truncated = view->exec->detached ? view->exec->tail.truncated : view->exec->ended || !view->exec->note;
	uint8_t result[EXEC_RESULT_SIZE];

	if (!view->told && stream_send(stream, 0, &truncated, 1) == 0)
		return;
	view->told = true;
	if (!send_rest(stream, view) || (view->until == UINT64_MAX && !view->exec->ended))
		return;
	exec_result(view->exec, result);
	stream_result(stream, result, sizeof(result));
}

static void view_gone(struct stream *stream)
{
	struct view *view = stream->work;

	if (!view)
		return;
	view->exec->views--;
	if (view->resumes && view->exec->views == 0 && !view->exec->ended)
		output_ring_seen(view->exec, &view->place);
	execs_trim();
	free(view);
}

const struct stream_kind attach_kind = {
	.open = open_view,
	.pump = pump_view,
	.gone = view_gone,
};

const struct stream_kind resume_kind = {
	.open = open_resumed,
	.data = input_of_view,
	.eof = input_ends,
	.pump = pump_view,
	.gone = view_gone,
};
