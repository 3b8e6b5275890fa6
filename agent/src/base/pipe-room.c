/* A pipe is wide from its first MiB on until a second passes in which it carries less. */
#define _GNU_SOURCE
#include "base/pipe-room.h"

#include <fcntl.h>

#define NORMAL_SIZE 65536
#define WIDE_SIZE (1 << 20) /* the most that the kernel gives without privileges, if nothing else is said */
#define MUCH (1 << 20)
#define LOOK_US 1000000

static void look(struct timer *timer)
{
	struct pipe_room *room = container_of(timer, struct pipe_room, look);
	bool is_busy = room->carried >= MUCH;

	room->carried = 0;
	/* What holds more than it then could refuses. */
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
