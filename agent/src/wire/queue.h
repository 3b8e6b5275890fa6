/* What waits to be written to the host. Chunks are recycled, so that a steady flow allocates nothing. */
#ifndef SVC_QUEUE_H
#define SVC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/frame.h"

/* Two full DATA frames and a little. */
#define CHUNK_SIZE (2 * (FRAME_MAX + 4) + 1024)
#define QUEUE_FULL 8     /* chunks from which on no process is read any more */
#define QUEUE_BROKEN 64  /* chunks that answers alone cannot fill: the host does not read */

struct chunk;

struct queue {
	struct chunk *head, *tail, *spare;
	size_t chunks, spares;
};

/* `size` bytes at the end (at most CHUNK_SIZE), to be followed by queue_commit() of at most as many; NULL: no memory,
 * or QUEUE_BROKEN chunks. */
uint8_t *queue_reserve(struct queue *queue, size_t size);
void queue_commit(struct queue *queue, size_t size);
/* Room in the chunk that is being filled. */
size_t queue_tail_room(const struct queue *queue);
bool queue_is_empty(const struct queue *queue);
/* Writes what the descriptor takes now: how many bytes, or -1 with errno when it is broken. */
ssize_t queue_write(struct queue *queue, int fd);
/* Drops everything and gives all memory back. */
void queue_clear(struct queue *queue);

#endif
