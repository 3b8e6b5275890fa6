/* A record is its channel, its length and its bytes, and may wrap around at any byte. */
#include "base/ring.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 5 /* u8 channel, u32 length */

static uint8_t *at(const struct ring *ring, uint64_t offset)
{
	return ring->bytes + (offset & (ring->size - 1));
}

static size_t length_of(const struct ring *ring, uint64_t record)
{
	size_t length = 0;

	for (unsigned i = 0; i < 4; i++)
		length |= (size_t)*at(ring, record + 1 + i) << (8 * i);
	return length;
}

static void set_head(struct ring *ring, uint64_t record, uint8_t channel, size_t length)
{
	*at(ring, record) = channel;
	for (unsigned i = 0; i < 4; i++)
		*at(ring, record + 1 + i) = (uint8_t)(length >> (8 * i));
}

static void append(struct ring *ring, const uint8_t *bytes, size_t size)
{
	size_t here = ring->size - (size_t)(ring->end & (ring->size - 1));

	if (here > size)
		here = size;
	memcpy(at(ring, ring->end), bytes, here);
	memcpy(ring->bytes, bytes + here, size - here);
	ring->end += size;
}

static void drop_oldest(struct ring *ring)
{
	ring->start += HEAD + length_of(ring, ring->start);
	ring->truncated = true;
}

size_t ring_needs(const struct ring *ring, size_t size)
{
	size_t records = size / RECORD_MAX + 1;

	return (size_t)(ring->end - ring->start) + size + records * HEAD;
}

bool ring_resize(struct ring *ring, size_t size)
{
	struct ring old = *ring;
	uint8_t *bytes = size ? malloc(size) : NULL;

	if (size && !bytes)
		return false;
	while (old.end - old.start > size)
		drop_oldest(&old);
	*ring = old;
	ring->bytes = bytes;
	ring->size = size;
	for (ring->end = old.start; ring->end < old.end;) {
		size_t here = old.size - (size_t)(ring->end & (old.size - 1));

		if (here > old.end - ring->end)
			here = (size_t)(old.end - ring->end);
		append(ring, at(&old, ring->end), here);
	}
	free(old.bytes);
	return true;
}

/* Appends to the newest record if it has the same channel and room. */
static bool join(struct ring *ring, uint8_t channel, const uint8_t *bytes, size_t size)
{
	size_t length;

	if (ring->start == ring->end || ring->last < ring->start || *at(ring, ring->last) != channel)
		return false;
	length = length_of(ring, ring->last);
	if (length + size > RECORD_MAX)
		return false;
	while (ring->end - ring->start + size > ring->size)
		drop_oldest(ring);
	set_head(ring, ring->last, channel, length + size);
	append(ring, bytes, size);
	return true;
}

static void put_record(struct ring *ring, uint8_t channel, const uint8_t *bytes, size_t size)
{
	while (ring->end - ring->start + HEAD + size > ring->size)
		drop_oldest(ring);
	ring->last = ring->end;
	ring->end += HEAD;
	set_head(ring, ring->last, channel, size);
	append(ring, bytes, size);
}

void ring_put(struct ring *ring, uint8_t channel, const uint8_t *bytes, size_t size, bool joins)
{
	while (size > 0) {
		size_t now = size < RECORD_MAX ? size : RECORD_MAX;

		if (ring->size == 0)
			ring->truncated = true;
		else if (!joins || !join(ring, channel, bytes, now))
			put_record(ring, channel, bytes, now);
		bytes += now;
		size -= now;
	}
}

struct ring_piece ring_peek(const struct ring *ring, struct ring_place *place, uint64_t until)
{
	struct ring_piece piece = { 0 };
	uint64_t from;
	size_t to_edge;

	if (place->record < ring->start)
		*place = (struct ring_place){ .record = ring->start };
	if (place->record >= ring->end)
		return piece;
	if (place->record < ring->last && place->done == length_of(ring, place->record))
		*place = (struct ring_place){ .record = place->record + HEAD + place->done };
	from = place->record + HEAD + place->done;
	if (from >= until)
		return piece;
	piece.channel = *at(ring, place->record);
	piece.bytes = at(ring, from);
	piece.size = length_of(ring, place->record) - place->done;
	to_edge = ring->size - (size_t)(from & (ring->size - 1));
	if (piece.size > to_edge)
		piece.size = to_edge;
	if (piece.size > until - from)
		piece.size = (size_t)(until - from);
	return piece;
}

void ring_skip(struct ring_place *place, size_t size)
{
	place->done += size;
}

void ring_forget(struct ring *ring, const struct ring_place *place)
{
	if (place->record < ring->start || place->record >= ring->end)
		return;
	ring->start = place->record;
	/* The record is read to its end. */
	if (place->done == length_of(ring, place->record))
		ring->start += HEAD + place->done;
}

struct ring_place ring_last(const struct ring *ring, size_t count)
{
	size_t records = 0;
	uint64_t record;

	for (record = ring->start; record < ring->end; record += HEAD + length_of(ring, record))
		records++;
	for (record = ring->start; records > count; records--)
		record += HEAD + length_of(ring, record);
	return (struct ring_place){ .record = record };
}
