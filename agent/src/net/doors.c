/* A socket keeps the port that it was bound to, so a door that closes stops to listen and waits for its port to be
 * wanted again. */
#define _GNU_SOURCE
#include "net/doors.h"

#include <sys/socket.h>

#include "net/accept.h"
#include "net/name-service.h"

#define DOORS (GATE_SOCKETS - 1)

struct door {
	struct listener listener;
	int fd;
	bool is_open;
};

static struct door doors[DOORS];
static bool exist;

void doors_take(const int sockets[GATE_SOCKETS])
{
	name_service_start(sockets[0]);
	for (int i = 0; i < DOORS; i++)
		doors[i] = (struct door){ .listener = listener_of(BY_GATE), .fd = sockets[1 + i] };
	exist = true;
}

bool doors_exist(void)
{
	return exist;
}

/* The door that has the port, else an unused one. */
static struct door *door_for(uint16_t port)
{
	struct door *unused = NULL;

	for (int i = 0; i < DOORS; i++) {
		if (doors[i].listener.port == port)
			return &doors[i];
		if (doors[i].listener.port == 0 && !unused)
			unused = &doors[i];
	}
	return unused;
}

static bool has_port(struct door *door, uint16_t port)
{
	union address any = { 0 };
	socklen_t size = sizeof(any);

	if (door->listener.port == port)
		return true;
	if (getsockname(door->fd, &any.any, &size))
		return false;
	if (any.any.sa_family == AF_INET6)
		any.six.sin6_port = htons(port);
	else
		any.four.sin_port = htons(port);
	if (bind(door->fd, &any.any, size))
		return false;
	door->listener.port = port;
	return true;
}

static bool open_door(uint16_t port)
{
	struct door *door = port ? door_for(port) : NULL;

	if (!door || !has_port(door, port))
		return false;
	if (door->is_open)
		return true;
	if (listen(door->fd, BACKLOG))
		return false;
	door->is_open = true;
	listener_start(&door->listener, door->fd);
	return true;
}

/* What waits in it is reset. */
static void close_door(struct door *door)
{
	watch_remove(&door->listener.watch);
	shutdown(door->fd, SHUT_RDWR);
	door->is_open = false;
}

static bool is_wanted(const struct door *door, const uint16_t *ports, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++)
		if (ports[i] == door->listener.port)
			return true;
	return false;
}

uint16_t doors_open(const uint16_t *ports, uint16_t count, uint16_t missing[PORTS_MAX])
{
	uint16_t missed = 0;

	for (int i = 0; i < DOORS; i++)
		if (doors[i].is_open && !is_wanted(&doors[i], ports, count))
			close_door(&doors[i]);
	for (uint16_t i = 0; i < count; i++)
		if (!open_door(ports[i]))
			missing[missed++] = ports[i];
	return missed;
}
