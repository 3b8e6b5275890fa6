/* Opens file work: its paths, and for calls the queue. Children cost memory, and a host may send a thousand calls at
 * once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/files.h"

#define CALLS_AT_ONCE 64
/* More than file_child() accepts, which refuses by itself. */
#define PATHS_MAX 8192
#define ATTRIBUTES_MAX 65536

static struct work *waiting;
static size_t calls_running;

static bool is_call(const struct work *work)
{
	return work->op.kind >= FILE_STAT;
}

void work_turn_over(const struct work *work)
{
	calls_running -= is_call(work);
}

static int begin(struct work *work)
{
	int error = work_begin(work);

	if (!error)
		calls_running += is_call(work);
	return error;
}

void work_leave_queue(struct work *work)
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
		work_forget(work);
	}
}

static void wait_for_turn(struct work *work)
{
	struct work **at = &waiting;

	while (*at)
		at = &(*at)->next;
	*at = work;
}

static int copy_paths(struct work *work)
{
	size_t one = strlen(work->op.path) + 1, two = work->op.path2 ? strlen(work->op.path2) + 1 : 0;

	size_t rest = work->op.attributes ? work->op.attributes_size : 0;

	if (one > PATHS_MAX || two > PATHS_MAX)
		return ENAMETOOLONG;
	if (rest > ATTRIBUTES_MAX)
		return EINVAL;
	work->paths = malloc(one + two + rest + 1);
	if (!work->paths)
		return ENOMEM;
	if (rest)
		memcpy(work->paths + one + two, work->op.attributes, rest);
	work->op.attributes = (uint8_t *)work->paths + one + two;
	work->op.attributes_size = rest;
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
	work->child.uid = stream->uid;
	memcpy(work->account, stream->account, sizeof(work->account));
	work->stream = stream;
	work->in.stream = stream;
	error = launch(work);
	if (error) {
		work_forget(work);
		return error;
	}
	stream->work = work;
	return 0;
}
