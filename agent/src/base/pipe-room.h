/* Pipes that carry much get room for it: every time that one is full or empty, one process waits for another to be run.
 * Only while they carry much: what a user's pipes may hold in all is bounded by the kernel (pipe-user-pages-soft), and
 * beyond it everybody's new pipes are small. */
#ifndef SVC_PIPE_ROOM_H
#define SVC_PIPE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

/* Of a descriptor that need not be a pipe: others stay as they are. Zeros to begin with. */
struct pipe_room {
	int fd;
	size_t carried; /* since it was last looked at */
	bool is_wide;
	struct timer look;
};

/* So many bytes went through `fd`. */
void pipe_room_carried(struct pipe_room *room, int fd, size_t size);
/* The descriptor is about to be closed. Safe twice. */
void pipe_room_leave(struct pipe_room *room);

#endif
