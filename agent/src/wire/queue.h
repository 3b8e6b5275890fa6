/* The output queue to the host. Chunks are reused, so that a steady flow allocates nothing. */
#ifndef SVC_QUEUE_H
#define SVC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/frame.h"

/* Two full DATA frames and headers. */
#define CHUNK_SIZE (2 * (FRAME_MAX + 4) + 1024)
#define QUEUE_FULL 8     /* chunks beyond which no process output is read */
#define QUEUE_BROKEN 64  /* chunks that answers alone cannot fill: the host does not read */

struct chunk;

struct queue {
	struct chunk *head, *tail, *spare;
	size_t chunks, spares;
};

/* Returns room for `size` bytes at the end (at most CHUNK_SIZE); queue_commit() of at most as many must follow. NULL:
 * no memory, or QUEUE_BROKEN chunks. */
uint8_t *queue_reserve(struct queue *queue, size_t size);
void queue_commit(struct queue *queue, size_t size);
/* Returns the free bytes in the current chunk. */
size_t queue_tail_room(const struct queue *queue);
bool queue_is_empty(const struct queue *queue);
/* Writes what the descriptor accepts now; returns the number of bytes, or -1 with errno when it is broken. */
ssize_t queue_write(struct queue *queue, int fd);
/* Drops everything and frees all memory. */
void queue_clear(struct queue *queue);

#endif
