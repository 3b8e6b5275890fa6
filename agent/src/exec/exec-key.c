/* A repeated exec with the same key reports the state of the first one as soon as that runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/execs.h"

/* Found by name, because an exec that cannot start is forgotten. */
struct repeat {
	char id[EXEC_ID_MAX + 1];
	char body[EXEC_BODY_MAX + 1];
};

static void tell_when_it_runs(struct stream *stream)
{
	struct repeat *repeat = stream->work;
	struct exec *exec = execs_find_kept(repeat->id, stream->uid);
	uint8_t result[EXEC_RESULT_SIZE];

	if (!exec) {
		stream_fail(stream, EAGAIN);
		return;
	}
	if (strcmp(exec->body, repeat->body) != 0) {
		stream_fail(stream, EEXIST);
		return;
	}
	if (!exec->started)
		return;
	exec_result(exec, result);
	stream_result(stream, result, sizeof(result));
}

static void repeat_gone(struct stream *stream)
{
	free(stream->work);
}

static const struct stream_kind repeat_kind = {
	.pump = tell_when_it_runs,
	.gone = repeat_gone,
};

int exec_repeat(struct stream *stream, const struct exec *first, const struct exec_plan *plan)
{
	struct repeat *repeat;

	if (strcmp(first->body, plan->body) != 0)
		return EEXIST;
	repeat = calloc(1, sizeof(*repeat));
	if (!repeat)
		return ENOMEM;
	memcpy(repeat->id, plan->id, strlen(plan->id));
	memcpy(repeat->body, plan->body, strlen(plan->body));
	stream->kind = &repeat_kind;
	stream->work = repeat;
	return 0;
}
