/* Enlarges busy pipes, which saves a context switch each time that a pipe is full or empty. Only busy ones: the kernel
 * bounds what all pipes of a user hold (pipe-user-pages-soft), and beyond it every new pipe of that user is small. */
#ifndef SVC_PIPE_ROOM_H
#define SVC_PIPE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

/* State of one descriptor; a descriptor that is not a pipe is left as it is. Starts as zeros. */
struct pipe_room {
	int fd;
	size_t carried; /* since the last check */
	bool is_wide;
	struct timer look;
};

/* Records that `size` bytes went through `fd`. */
void pipe_room_carried(struct pipe_room *room, int fd, size_t size);
/* Call before the descriptor is closed. Idempotent. */
void pipe_room_leave(struct pipe_room *room);

#endif
