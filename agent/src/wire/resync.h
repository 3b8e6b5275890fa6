/* Hunting for an opening in a byte stream of unknown past. */
#ifndef SVC_RESYNC_H
#define SVC_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent.h"

#define HUNT_ZEROS 64

struct resync {
	size_t zeros; /* zero bytes in a row, as far as they matter */
	size_t size;  /* bytes of the candidate behind them */
	uint8_t candidate[SECRET_SIZE];
};

/* Takes bytes until the secret has directly followed enough zeros; the number taken. `*found` is set when it has, and
 * `hunt` is then as new. */
size_t resync_take(struct resync *hunt, const uint8_t *bytes, size_t size, bool *found);

#endif
