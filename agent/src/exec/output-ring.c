/* The kept output of detached execs, and its memory budget. Missing memory is taken from the oldest ended exec; if
 * there is none, an output keeps as much of its end as fits. */
#include "exec/exec.h"
#include "exec/execs.h"

static uint64_t budget, used;

void output_rings_init(uint64_t bytes)
{
	budget = bytes;
}

static bool resize(struct exec *exec, size_t size)
{
	size_t before = exec->tail.size;

	if (!ring_resize(&exec->tail, size))
		return false;
	used = used - before + size;
	return true;
}

void output_ring_drop(struct exec *exec)
{
	if (exec->tail.size > 0)
		resize(exec, 0);
}

void output_ring_seen(struct exec *exec, const struct ring_place *place)
{
	if (!exec->detached)
		output_ring_drop(exec);
	else
		ring_forget(&exec->tail, place);
	exec->tail.truncated = false;
}

static struct exec *oldest_ended_tail(void)
{
	struct exec *oldest = NULL;

	for (struct exec *exec = execs_first(); exec; exec = exec->next)
		if (exec->ended && exec->tail.size > 0 && (!oldest || exec->ended_number < oldest->ended_number))
			oldest = exec;
	return oldest;
}

/* The smallest size is granted beyond the budget; the limit on execs bounds that too. */
static bool is_affordable(size_t more, size_t size)
{
	while (size > RING_MIN && used + more > budget) {
		struct exec *oldest = oldest_ended_tail();

		if (!oldest)
			return false;
		output_ring_drop(oldest);
	}
	return true;
}

void output_ring_put(struct exec *exec, uint8_t channel, const uint8_t *bytes, size_t size)
{
	size_t needed = ring_needs(&exec->tail, size), wanted = exec->tail.size ? exec->tail.size : RING_MIN;

	while (wanted < needed && wanted < RING_MAX)
		wanted *= 2;
	while (wanted > exec->tail.size) {
		if (is_affordable(wanted - exec->tail.size, wanted) && resize(exec, wanted))
			break;
		wanted /= 2;
	}
	ring_put(&exec->tail, channel, bytes, size, true);
}
