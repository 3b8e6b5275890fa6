/* The end of an endless output: records of one channel each, the oldest dropped for new ones. Readers keep a place of
 * their own; one that was overtaken goes on with the oldest that is left. */
#ifndef SVC_RING_H
#define SVC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAX (1024 * 1024)
#define RING_MIN 4096
#define RECORD_MAX 2048 /* what is longer comes in several records */

struct ring {
	uint8_t *bytes;
	size_t size;         /* a power of two, 0 without memory */
	uint64_t start, end; /* offsets since the beginning */
	uint64_t last;       /* where the newest record begins */
	bool truncated;      /* something was dropped */
};

/* Where a reader is: in the record at `record`, `done` bytes of it read. Zeros: at the beginning. */
struct ring_place {
	uint64_t record;
	size_t done;
};

/* Memory for `size` bytes, keeping the newest content; false and unchanged without memory. 0 drops everything. */
bool ring_resize(struct ring *ring, size_t size);
/* What must fit for `size` more bytes to be kept without dropping others. */
size_t ring_needs(const struct ring *ring, size_t size);
/* Appends; `joins`: may go to the newest record when that is of the same channel. */
void ring_put(struct ring *ring, uint8_t channel, const uint8_t *bytes, size_t size, bool joins);
/* The bytes that lie in one piece at the place and before the offset `until`; size 0: the end. */
struct ring_piece {
	uint8_t channel;
	const uint8_t *bytes;
	size_t size;
};
struct ring_piece ring_peek(const struct ring *ring, struct ring_place *place, uint64_t until);
void ring_skip(struct ring_place *place, size_t size);
/* The place of the last `count` records. */
struct ring_place ring_last(const struct ring *ring, size_t count);

#endif
