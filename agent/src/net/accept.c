/* Connections wait in the backlogs of the listeners until the host accepts, and nothing leaves the sandbox meanwhile. */
#define _GNU_SOURCE
#include "net/accept.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/gate.h"
#include "net/names.h"
#include "net/owner.h"
#include "net/tunnel.h"

/* how, uid, name, family, address, port, port of the peer */
#define ORIGIN_MAX (1 + 4 + 4 + NAME_SIZE + 1 + 16 + 2 + 2)
#define NOBODY_KNOWN UINT32_MAX

struct accepted {
	struct tunnel tunnel;
	struct accepted *next; /* while it waits */
};

/* First come, first served. */
static struct accepted *waiting, **last_waiting = &waiting;

static void write_address(struct writer *writer, const union address *address)
{
	uint8_t bytes[16] = { 0 };
	bool is_six = address->any.sa_family == AF_INET6;

	if (is_six)
		memcpy(bytes, &address->six.sin6_addr, 16);
	else
		memcpy(bytes, &address->four.sin_addr, 4);
	write_number(writer, is_six ? 6 : 4, 1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		write_number(writer, bytes[i], 1);
}

/* One socket serves both families: an address of IPv4 is shown as itself. */
static void unmap(union address *address)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = address->six.sin6_port };

	if (address->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address->six.sin6_addr))
		return;
	memcpy(&four.sin_addr, address->six.sin6_addr.s6_addr + 12, 4);
	address->four = four;
}

static const char *name_of(uint8_t how, const union address *address)
{
	const char *name = NULL;

	if (how == BY_GATE && address->any.sa_family == AF_INET)
		name = names_find(ntohl(address->four.sin_addr.s_addr));
	return name ? name : "";
}

/* Writes who connected, and where to; returns the size, or 0 when the connection has already ended. */
static size_t describe(int fd, uint8_t how, uint8_t bytes[ORIGIN_MAX])
{
	struct writer writer = writer_to(bytes, ORIGIN_MAX);
	union address own = { 0 }, peer = { 0 };
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
	const char *name;
	uid_t uid;

	if (getsockname(fd, &own.any, &own_size) || getpeername(fd, &peer.any, &peer_size))
		return 0;
	unmap(&own);
	unmap(&peer);
	if (!connection_owner(&peer, &own, &uid))
		uid = NOBODY_KNOWN;
	name = name_of(how, &own);
	write_number(&writer, how, 1);
	write_number(&writer, uid, 4);
	write_str(&writer, name, strlen(name));
	write_address(&writer, &own);
	write_number(&writer, address_port(&own), 2);
	write_number(&writer, address_port(&peer), 2);
	return (size_t)(writer.at - bytes);
}

static struct accepted *take_waiting(void)
{
	struct accepted *accepted = waiting;

	waiting = accepted->next;
	if (!waiting)
		last_waiting = &waiting;
	return accepted;
}

static short want(struct watch *watch)
{
	(void)watch;
	return waiting && stream_room(waiting->tunnel.stream) >= ORIGIN_MAX ? POLLIN : 0;
}

static void ready(struct watch *watch, short events)
{
	struct listener *listener = container_of(watch, struct listener, watch);
	uint8_t origin[ORIGIN_MAX];
	struct accepted *accepted;
	size_t size;
	int fd;

	(void)events;
	/* Another listener, or the end of a stream, may have come first. */
	if (!want(watch))
		return;
	fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
		/* Without an answer the loop would turn on this connection for ever. */
		stream_fail(take_waiting()->tunnel.stream, errno);
		return;
	}
	if (fd < 0)
		return;
	size = describe(fd, listener->how, origin);
	if (size == 0) {
		close(fd);
		return;
	}
	accepted = take_waiting();
	stream_started(accepted->tunnel.stream, 0);
	stream_send(accepted->tunnel.stream, 1, origin, size);
	tunnel_connect(&accepted->tunnel, fd);
}

static int open_accept(struct stream *stream, struct reader *arguments)
{
	struct accepted *accepted;

	if (!reader_done(arguments))
		return EINVAL;
	accepted = calloc(1, sizeof(*accepted));
	if (!accepted)
		return ENOMEM;
	tunnel_init(&accepted->tunnel, stream);
	stream->work = accepted;
	*last_waiting = accepted;
	last_waiting = &accepted->next;
	return 0;
}

static void accepted_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct accepted *accepted = stream->work;

	fd_writer_data(&accepted->tunnel.in, bytes, size);
}

static void accepted_eof(struct stream *stream)
{
	struct accepted *accepted = stream->work;

	fd_writer_eof(&accepted->tunnel.in);
}

/* The program inside sees a reset: the host gave the connection up, it did not end. */
static void accepted_cancel(struct stream *stream)
{
	struct accepted *accepted = stream->work;
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	if (accepted->tunnel.watch.fd >= 0)
		setsockopt(accepted->tunnel.watch.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	stream_fail(stream, ECANCELED);
}

static void stop_waiting(const struct accepted *accepted)
{
	struct accepted **at = &waiting;

	while (*at && *at != accepted)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = accepted->next;
	if (!*at)
		last_waiting = at;
}

static void accepted_gone(struct stream *stream)
{
	struct accepted *accepted = stream->work;

	if (!accepted)
		return;
	stop_waiting(accepted);
	tunnel_close(&accepted->tunnel);
	free(accepted);
}

struct listener listener_of(uint8_t how)
{
	return (struct listener){ .how = how, .watch = { .fd = -1, .want = want, .ready = ready } };
}

void listener_start(struct listener *listener, int fd)
{
	listener->watch.fd = fd;
	watch_add(&listener->watch);
}

const struct stream_kind accept_kind = {
	.open = open_accept,
	.data = accepted_data,
	.eof = accepted_eof,
	.cancel = accepted_cancel,
	.gone = accepted_gone,
	.not_for_users = true,
	.is_accept = true,
};
