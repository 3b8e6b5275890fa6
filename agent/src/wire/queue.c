/* The output queue to the host. */
#include "wire/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECES 16
#define SPARES_MAX 4

struct chunk {
	struct chunk *next;
	size_t start, end;
	uint8_t bytes[CHUNK_SIZE];
};

static struct chunk *more(struct queue *queue)
{
	struct chunk *chunk = queue->spare;

	if (queue->chunks >= QUEUE_BROKEN)
		return NULL;
	if (chunk) {
		queue->spare = chunk->next;
		queue->spares--;
	} else {
		chunk = malloc(sizeof(*chunk));
	}
	if (!chunk)
		return NULL;
	chunk->next = NULL;
	chunk->start = chunk->end = 0;
	if (queue->tail)
		queue->tail->next = chunk;
	else
		queue->head = chunk;
	queue->tail = chunk;
	queue->chunks++;
	return chunk;
}

size_t queue_tail_room(const struct queue *queue)
{
	return queue->tail ? CHUNK_SIZE - queue->tail->end : 0;
}

uint8_t *queue_reserve(struct queue *queue, size_t size)
{
	struct chunk *chunk = queue->tail;

	if (queue_tail_room(queue) < size)
		chunk = more(queue);
	return chunk ? chunk->bytes + chunk->end : NULL;
}

void queue_commit(struct queue *queue, size_t size)
{
	queue->tail->end += size;
}

bool queue_is_empty(const struct queue *queue)
{
	return !queue->head || (queue->head == queue->tail && queue->head->start == queue->head->end);
}

static void drop_head(struct queue *queue)
{
	struct chunk *chunk = queue->head;

	queue->head = chunk->next;
	if (!queue->head)
		queue->tail = NULL;
	queue->chunks--;
	if (queue->spares >= SPARES_MAX) {
		free(chunk);
		return;
	}
	chunk->next = queue->spare;
	queue->spare = chunk;
	queue->spares++;
}

static void took(struct queue *queue, size_t size)
{
	while (queue->head) {
		struct chunk *chunk = queue->head;
		size_t here = chunk->end - chunk->start;

		if (size < here) {
			chunk->start += size;
			return;
		}
		size -= here;
		drop_head(queue);
	}
}

ssize_t queue_write(struct queue *queue, int fd)
{
	struct iovec pieces[PIECES];
	int count = 0;
	ssize_t written;

	for (struct chunk *chunk = queue->head; chunk && count < PIECES; chunk = chunk->next)
		pieces[count++] = (struct iovec){ chunk->bytes + chunk->start, chunk->end - chunk->start };
	if (count == 0)
		return 0;
	written = writev(fd, pieces, count);
	if (written < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	took(queue, (size_t)written);
	return written;
}

void queue_clear(struct queue *queue)
{
	while (queue->head)
		drop_head(queue);
	while (queue->spare) {
		struct chunk *chunk = queue->spare;

		queue->spare = chunk->next;
		free(chunk);
	}
	queue->spares = 0;
}
