/* The open streams. A stream is found by its number in a small table; ended streams are removed at once. */
#include <stdlib.h>

#include "wire/fragments.h"
#include "wire/stream.h"

#define BUCKETS 256

static struct stream *table[BUCKETS];
static size_t streams, calls, accepts, wide;

static struct stream **place(uint32_t id)
{
	struct stream **at = &table[id % BUCKETS];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

struct stream *stream_find(uint32_t id)
{
	return *place(id);
}

static size_t *count_of(const struct stream_kind *kind, bool is_call)
{
	return is_call ? &calls : kind->is_accept ? &accepts : &streams;
}

bool streams_are_full(const struct stream_kind *kind, bool is_call)
{
	size_t most = is_call ? CALLS_MAX : kind->is_accept ? ACCEPTS_MAX : STREAMS_MAX;

	return *count_of(kind, is_call) >= most;
}

void stream_end(struct stream *stream)
{
	struct stream **at = place(stream->id);

	*at = stream->next;
	*count_of(stream->kind, stream->is_call) -= 1;
	if (stream->is_wide)
		wide--;
	if (stream->kind->gone)
		stream->kind->gone(stream);
	free(stream);
}

struct stream *stream_begin(uint32_t id, const struct stream_kind *kind, bool is_call)
{
	struct stream **at = place(id);
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->id = id;
	stream->kind = kind;
	stream->is_call = is_call;
	stream->credit = stream->host_credit = FIRST_CREDIT;
	*at = stream;
	*count_of(kind, is_call) += 1;
	return stream;
}

void stream_widen(struct stream *stream)
{
	if (stream->is_wide)
		return;
	if (stream->taken < WIDE_CREDIT)
		stream->taken += stream->owed;
	if (stream->taken < WIDE_CREDIT || wide == WIDE_MAX)
		return;
	wide++;
	stream->is_wide = true;
	stream->owed += WIDE_CREDIT - FIRST_CREDIT;
}

/* A pump may end its own stream and no other. */
void streams_pump(void)
{
	struct stream *next;

	for (size_t i = 0; i < BUCKETS && streams > 0; i++)
		for (struct stream *stream = table[i]; stream; stream = next) {
			next = stream->next;
			if (stream->kind->pump && !stream->cancelled)
				stream->kind->pump(stream);
		}
}

void streams_drop(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (table[i])
			stream_end(table[i]);
	fragments_drop_all();
}
