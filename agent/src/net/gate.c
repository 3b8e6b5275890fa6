/* `gate` makes the listeners; `accept` waits for one connection to them. The listeners outlive the session: connections
 * wait in their backlogs until the host accepts again, and nothing leaves the sandbox meanwhile. */
#define _GNU_SOURCE
#include "net/gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "net/listeners.h"
#include "net/tunnel.h"

#define BACKLOG 128
#define PORTS_MAX 64
#define DID_PROXY 1
#define BY_PROXY 1
/* how, uid, an empty name, family, address, port, port of the peer */
#define ORIGIN_SIZE (1 + 4 + 4 + 1 + 16 + 2 + 2)
#define NOBODY_KNOWN UINT32_MAX

struct accepted {
	struct tunnel tunnel;
	struct accepted *next; /* while it waits */
};

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* First come, first served. */
static struct accepted *waiting, **last_waiting = &waiting;
static uint16_t proxy_port;

static short want(struct watch *watch);
static void ready(struct watch *watch, short events);
static struct watch listeners[] = {
	{ .fd = -1, .want = want, .ready = ready },
	{ .fd = -1, .want = want, .ready = ready },
};

#define FOUR (&listeners[0])
#define SIX (&listeners[1])

static uint16_t port_of(const union address *address)
{
	return ntohs(address->any.sa_family == AF_INET6 ? address->six.sin6_port : address->four.sin_port);
}

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

/* Returns the bytes that name who connected, and where to; 0 when the connection has already ended. */
static size_t describe(int fd, uint8_t bytes[ORIGIN_SIZE])
{
	struct writer writer = writer_to(bytes, ORIGIN_SIZE);
	union address own = { 0 }, peer = { 0 };
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
	uid_t uid;

	if (getsockname(fd, &own.any, &own_size) || getpeername(fd, &peer.any, &peer_size))
		return 0;
	if (!connection_owner(port_of(&peer), port_of(&own), own.any.sa_family == AF_INET6, &uid))
		uid = NOBODY_KNOWN;
	write_number(&writer, BY_PROXY, 1);
	write_number(&writer, uid, 4);
	write_str(&writer, "", 0);
	write_address(&writer, &own);
	write_number(&writer, port_of(&own), 2);
	write_number(&writer, port_of(&peer), 2);
	return ORIGIN_SIZE;
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
	return waiting && stream_room(waiting->tunnel.stream) >= ORIGIN_SIZE ? POLLIN : 0;
}

static void ready(struct watch *watch, short events)
{
	uint8_t origin[ORIGIN_SIZE];
	struct accepted *accepted;
	int fd;

	(void)events;
	/* The other listener, or the end of a stream, may have come first. */
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
	if (!describe(fd, origin)) {
		close(fd);
		return;
	}
	accepted = take_waiting();
	stream_started(accepted->tunnel.stream, 0);
	stream_send(accepted->tunnel.stream, 1, origin, ORIGIN_SIZE);
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

static int listen_on(struct watch *watch, const union address *address, socklen_t size)
{
	int on = 1;
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* A connection of an earlier listener may still be ending. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &address->any, size) || listen(fd, BACKLOG)) {
		close(fd);
		return -1;
	}
	watch->fd = fd;
	watch_add(watch);
	return 0;
}

static void close_listeners(void)
{
	for (size_t i = 0; i < sizeof(listeners) / sizeof(listeners[0]); i++) {
		watch_remove(&listeners[i]);
		close_end(&listeners[i].fd);
	}
	proxy_port = 0;
}

/* Returns whether the proxy listens as asked. IPv6 may be missing: programs are told the IPv4 address. */
static bool listen_for_proxy(uint16_t port)
{
	union address four = { .four = { .sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	union address six = { .six = { .sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT } };

	/* Connections that wait in a listener that stays are not lost. */
	if (port == proxy_port)
		return port != 0;
	close_listeners();
	if (port == 0 || listen_on(FOUR, &four, sizeof(four.four)))
		return false;
	if (listen_on(SIX, &six, sizeof(six.six)))
		log_line("gate: no listener on the IPv6 loopback");
	proxy_port = port;
	return true;
}

/* Flags and ports of the list are reserved: no bit is set for them, and the ports are reported as missing. */
static int open_gate(struct stream *stream, struct reader *arguments)
{
	uint8_t answer[4 + 2 + 2 * (1 + PORTS_MAX)];
	struct writer writer = writer_to(answer, sizeof(answer));
	uint16_t missing[1 + PORTS_MAX];
	uint16_t port = read_u16(arguments), count, missed = 0;
	bool done;

	read_u8(arguments);
	count = read_u16(arguments);
	if (count > PORTS_MAX)
		return EINVAL;
	for (uint16_t i = 0; i < count; i++)
		missing[missed++] = read_u16(arguments);
	if (!reader_done(arguments))
		return EINVAL;
	done = listen_for_proxy(port);
	if (port != 0 && !done)
		missing[missed++] = port;
	write_number(&writer, done ? DID_PROXY : 0, 4);
	write_number(&writer, missed, 2);
	for (uint16_t i = 0; i < missed; i++)
		write_number(&writer, missing[i], 2);
	stream_result(stream, answer, (size_t)(writer.at - answer));
	return 0;
}

const struct stream_kind gate_kind = { .open = open_gate, .not_for_users = true };

const struct stream_kind accept_kind = {
	.open = open_accept,
	.data = accepted_data,
	.eof = accepted_eof,
	.cancel = accepted_cancel,
	.gone = accepted_gone,
	.not_for_users = true,
	.is_accept = true,
};
