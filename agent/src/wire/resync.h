/* Finds the opening of a session in a byte stream with unknown earlier content. */
#ifndef SVC_RESYNC_H
#define SVC_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent.h"

#define RESYNC_ZEROS 64

struct resync {
	size_t zeros; /* zero bytes in a row, counted up to the required number */
	size_t size;  /* bytes of the candidate after them */
	uint8_t candidate[SECRET_SIZE];
};

/* Takes bytes until the secret directly follows enough zeros; returns the number taken. Then sets `*found` and resets
 * the state. */
size_t resync_take(struct resync *resync, const uint8_t *bytes, size_t size, bool *found);

#endif
