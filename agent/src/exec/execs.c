/* All execs that the agent knows, in the order of their start. */
#include "exec/execs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define RECORD_SIZE (EXEC_ID_MAX + EXEC_LABEL_MAX + EXEC_NOTE_MAX + 128)
#define LIST_KEPT 1
#define STATE_RUNNING 1
#define STATE_EXITED 2

static struct exec *first;
static uint64_t numbers, ended_numbers;

struct exec *execs_first(void)
{
	return first;
}

struct exec *execs_find(const char *id)
{
	struct exec *exec = first;

	while (exec && strcmp(exec->id, id) != 0)
		exec = exec->next;
	return exec;
}

struct exec *execs_find_for(const char *id, uid_t uid)
{
	struct exec *exec = execs_find(id);

	return exec && (uid == 0 || exec->child.uid == uid) ? exec : NULL;
}

static bool is_over(const struct exec *exec)
{
	return exec->ended && exec->views == 0 && exec->body[0] && now_us() - exec->ended_us > KEY_KEPT_US;
}

struct exec *execs_find_kept(const char *id, uid_t uid)
{
	struct exec *exec = execs_find_for(id, uid);

	return exec && exec->body[0] && !is_over(exec) ? exec : NULL;
}

static void take_out(struct exec *exec)
{
	struct exec **at = &first;

	while (*at != exec)
		at = &(*at)->next;
	*at = exec->next;
	output_ring_drop(exec);
	exec_free(exec);
}

void exec_free(struct exec *exec)
{
	free(exec->note);
	free(exec);
}

void execs_forget(struct exec *exec)
{
	take_out(exec);
}

void execs_add(struct exec *exec)
{
	struct exec **at = &first;

	while (*at)
		at = &(*at)->next;
	exec->number = ++numbers;
	*at = exec;
}

uint32_t execs_running(void)
{
	uint32_t running = 0;

	for (struct exec *exec = first; exec; exec = exec->next)
		running += !exec->ended;
	return running;
}

static uint32_t detached_running(void)
{
	uint32_t running = 0;

	for (struct exec *exec = first; exec; exec = exec->next)
		running += !exec->ended && (exec->detached || exec->note);
	return running;
}

int execs_admit(const char *id, bool detached)
{
	struct exec *same = execs_find(id);

	if (same && (!same->ended || same->views > 0))
		return EEXIST;
	if (execs_running() >= RUNNING_MAX || (detached && detached_running() >= DETACHED_MAX))
		return EAGAIN;
	if (same)
		take_out(same);
	return 0;
}

void execs_end(struct exec *exec)
{
	exec->ended = true;
	exec->ended_us = now_us();
	exec->ended_ms = wall_ms();
	exec->ended_number = ++ended_numbers;
}

/* Returns the exec that ended first, of those with a key or of those without, that has no view attached. */
static struct exec *oldest_ended(bool keyed)
{
	struct exec *oldest = NULL;

	for (struct exec *exec = first; exec; exec = exec->next)
		if (exec->ended && exec->views == 0 && (exec->body[0] != '\0') == keyed && (!oldest || exec->ended_number < oldest->ended_number))
			oldest = exec;
	return oldest;
}

static void trim(bool keyed)
{
	size_t ended = 0;
	struct exec *oldest;

	for (struct exec *exec = first; exec; exec = exec->next)
		ended += exec->ended && (exec->body[0] != '\0') == keyed;
	while ((oldest = oldest_ended(keyed)) && (ended > ENDED_MAX || is_over(oldest))) {
		take_out(oldest);
		ended--;
	}
}

void execs_trim(void)
{
	trim(false);
	trim(true);
}

void execs_forget_user(uid_t uid)
{
	struct exec *next;

	for (struct exec *exec = first; exec; exec = next) {
		next = exec->next;
		if (exec->child.uid == uid && exec->ended && exec->views == 0)
			take_out(exec);
	}
}

/* ---- the stream that lists them: one record at a time, so that a list costs no memory */

struct listing {
	uint64_t number; /* the last exec sent */
	uid_t uid;       /* the tenant whose execs are listed; 0: all */
	uint32_t count;
	bool is_of_kept; /* those that are kept alone, and more of each */
	size_t sent, size;
	uint8_t record[RECORD_SIZE];
};

static int open_listing(struct stream *stream, struct reader *arguments)
{
	struct listing *listing;

	uint8_t flags = arguments->at < arguments->end ? read_u8(arguments) : 0;

	if (!reader_done(arguments) || (flags & ~LIST_KEPT))
		return EINVAL;
	stream->work = listing = calloc(1, sizeof(*listing));
	if (!listing)
		return ENOMEM;
	listing->uid = stream->uid;
	listing->is_of_kept = (flags & LIST_KEPT) != 0;
	return 0;
}

static bool takes_input(const struct exec *exec)
{
	return exec->in.watch.fd >= 0 && !exec->in.ends;
}

static void write_record(struct listing *listing, const struct exec *exec)
{
	struct writer writer = writer_to(listing->record, sizeof(listing->record));

	write_str(&writer, exec->id, strlen(exec->id));
	write_str(&writer, exec->label, strlen(exec->label));
	write_number(&writer, exec->ended ? STATE_EXITED : STATE_RUNNING, 1);
	write_number(&writer, exec->detached || exec->note, 1);
	write_number(&writer, (uint32_t)exec_exit_code(exec), 4);
	write_number(&writer, exec_signal(exec), 4);
	write_number(&writer, exec->started_ms, 8);
	write_number(&writer, exec->ended ? exec->ended_ms : 0, 8);
	if (listing->is_of_kept) {
		write_number(&writer, (uint32_t)exec->child.pid, 4);
		write_number(&writer, takes_input(exec), 1);
		write_str(&writer, exec->note, strlen(exec->note));
	}
	listing->size = (size_t)(writer.at - listing->record);
	listing->sent = 0;
	listing->number = exec->number;
	listing->count++;
}

static bool next_record(struct listing *listing)
{
	struct exec *exec = first;

	while (exec && (exec->number <= listing->number || exec->refused ||
	       (listing->uid && exec->child.uid != listing->uid) || (listing->is_of_kept && !exec->note)))
		exec = exec->next;
	if (exec)
		write_record(listing, exec);
	return exec != NULL;
}

static void pump_listing(struct stream *stream)
{
	struct listing *listing = stream->work;
	uint8_t count[4];

	do {
		listing->sent += stream_send(stream, 0, listing->record + listing->sent, listing->size - listing->sent);
		if (listing->sent < listing->size)
			return;
	} while (next_record(listing));
	store_u32(count, listing->count);
	stream_result(stream, count, sizeof(count));
}

static void listing_gone(struct stream *stream)
{
	free(stream->work);
}

const struct stream_kind execs_kind = {
	.open = open_listing,
	.pump = pump_listing,
	.gone = listing_gone,
};
