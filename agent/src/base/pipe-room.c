/* A pipe grows after its first MiB and shrinks after a second with less traffic. */
#define _GNU_SOURCE
#include "base/pipe-room.h"

#include <fcntl.h>

#define NORMAL_SIZE 65536
#define WIDE_SIZE (1 << 20) /* the kernel's limit for unprivileged processes, unless it is configured otherwise */
#define MUCH (1 << 20)
#define LOOK_US 1000000

static void look(struct timer *timer)
{
	struct pipe_room *room = container_of(timer, struct pipe_room, look);
	bool is_busy = room->carried >= MUCH;

	room->carried = 0;
	/* The kernel refuses to shrink a pipe below what it holds. */
	if (is_busy || fcntl(room->fd, F_SETPIPE_SZ, NORMAL_SIZE) < 0)
		timer_set(timer, LOOK_US);
	else
		room->is_wide = false;
}

void pipe_room_carried(struct pipe_room *room, int fd, size_t size)
{
	room->carried += size;
	if (room->is_wide || room->carried < MUCH)
		return;
	room->carried = 0;
	if (fcntl(fd, F_SETPIPE_SZ, WIDE_SIZE) < 0)
		return;
	room->fd = fd;
	room->is_wide = true;
	room->look.fire = look;
	timer_set(&room->look, LOOK_US);
}

void pipe_room_leave(struct pipe_room *room)
{
	timer_stop(&room->look);
	room->is_wide = false;
}
