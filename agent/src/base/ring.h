/* A ring buffer for the last part of an endless output: records of one channel each; new records displace the oldest.
 * Each reader keeps its own position; a reader that was overtaken continues with the oldest record left. */
#ifndef SVC_RING_H
#define SVC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAX (1024 * 1024)
#define RING_MIN 4096
#define RECORD_MAX 2048 /* longer output becomes several records */

struct ring {
	uint8_t *bytes;
	size_t size;         /* a power of two; 0 without memory */
	uint64_t start, end; /* offsets since the start of the output */
	uint64_t last;       /* offset of the newest record */
	bool truncated;      /* something was dropped */
};

/* Position of a reader: in the record at `record`, of which `done` bytes are read. Zeros mean the start. */
struct ring_place {
	uint64_t record;
	size_t done;
};

/* Allocates `size` bytes and keeps the newest content. Returns false and changes nothing without memory. 0 drops
 * everything. */
bool ring_resize(struct ring *ring, size_t size);
/* Returns the capacity needed to keep `size` more bytes without dropping any. */
size_t ring_needs(const struct ring *ring, size_t size);
/* Appends; with `joins` the bytes may extend the newest record if that has the same channel. */
void ring_put(struct ring *ring, uint8_t channel, const uint8_t *bytes, size_t size, bool joins);
/* Returns the contiguous bytes at the position and before the offset `until`; size 0 means the end. */
struct ring_piece {
	uint8_t channel;
	const uint8_t *bytes;
	size_t size;
};
struct ring_piece ring_peek(const struct ring *ring, struct ring_place *place, uint64_t until);
void ring_skip(struct ring_place *place, size_t size);
/* Drops the records before the position; that counts as no loss. */
void ring_forget(struct ring *ring, const struct ring_place *place);
/* Returns the position of the last `count` records. */
struct ring_place ring_last(const struct ring *ring, size_t count);

#endif
