/* The calls ping, signal, resize and shutdown. */
#define _GNU_SOURCE
#include "exec/calls.h"

#include <errno.h>
#include <signal.h>

#include "exec/execs.h"
#include "exec/foreground.h"
#include "wire/session.h"

static bool ending;

static int ping(struct stream *stream, struct reader *arguments)
{
	uint8_t answer[12];
	struct writer writer = writer_to(answer, sizeof(answer));

	if (!reader_done(arguments))
		return EINVAL;
	write_number(&writer, uptime_ms(), 8);
	write_number(&writer, execs_running(), 4);
	stream_result(stream, answer, sizeof(answer));
	return 0;
}

static int send_signal(struct stream *stream, struct reader *arguments)
{
	const char *id = read_text(arguments);
	uint32_t number = read_u32(arguments);
	struct exec *exec;

	if (!reader_done(arguments) || number >= NSIG)
		return EINVAL;
	exec = execs_find_for(id, stream->uid);
	if (!exec || exec->ended)
		return exec ? ESRCH : ENOENT;
	if (kill_group(&exec->child, (int)number))
		return errno;
	stream_result(stream, NULL, 0);
	return 0;
}

static int resize(struct stream *stream, struct reader *arguments)
{
	const char *id = read_text(arguments);
	uint16_t rows = read_u16(arguments), cols = read_u16(arguments);
	struct exec *exec;

	if (!reader_done(arguments))
		return EINVAL;
	exec = execs_find_for(id, stream->uid);
	if (!exec || exec->ended)
		return exec ? ESRCH : ENOENT;
	if (exec->master < 0)
		return EINVAL;
	if (pty_resize(exec->master, rows, cols))
		return errno;
	if (exec->foreground >= 0)
		foreground_signal(exec->foreground, SIGWINCH);
	stream_result(stream, NULL, 0);
	return 0;
}

static int end_all(struct stream *stream, struct reader *arguments)
{
	if (!reader_done(arguments))
		return EINVAL;
	stream_result(stream, NULL, 0);
	ending = true;
	return 0;
}

bool shutdown_is_due(void)
{
	return ending;
}

const struct stream_kind ping_kind = { .open = ping };
const struct stream_kind signal_kind = { .open = send_signal };
const struct stream_kind resize_kind = { .open = resize };
const struct stream_kind shutdown_kind = { .open = end_all, .not_for_users = true };
