/* `connect`: a TCP connection to the loopback of the sandbox. Each direction ends by itself; the stream ends with the
 * second, or with the first error. */
#define _GNU_SOURCE
#include "net/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "net/listeners.h"
#include "wire/fd-writer.h"

struct tunnel {
	struct stream *stream;
	struct watch watch; /* connecting, then the bytes of the peer */
	struct fd_writer in;   /* bytes of the host; on the same socket */
	uint16_t port;
	bool tried_all, connected, peer_ended, host_ended;
};

static int begin_connect(struct tunnel *tunnel)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(tunnel->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(tunnel->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool is_six = tunnel->tried_all;
	int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status;

	if (fd < 0)
		return -1;
	tunnel->watch.fd = fd;
	status = is_six ? connect(fd, (struct sockaddr *)&six, sizeof(six))
		: connect(fd, (struct sockaddr *)&four, sizeof(four));
	return status == 0 || errno == EINPROGRESS ? 0 : -1;
}

/* Tries the other address, or reports ECONNREFUSED: the second error adds nothing to the first. */
static int connect_next(struct tunnel *tunnel)
{
	watch_remove(&tunnel->watch);
	close_end(&tunnel->watch.fd);
	if (tunnel->tried_all)
		return ECONNREFUSED;
	tunnel->tried_all = true;
	if (begin_connect(tunnel)) {
		close_end(&tunnel->watch.fd);
		return ECONNREFUSED;
	}
	watch_add(&tunnel->watch);
	return 0;
}

static void end_when_both_ended(struct tunnel *tunnel)
{
	if (tunnel->peer_ended && tunnel->host_ended)
		stream_result(tunnel->stream, NULL, 0);
}

static void input_done(struct fd_writer *writer, int error)
{
	struct tunnel *tunnel = container_of(writer, struct tunnel, in);

	/* A peer that accepts no more may still send. */
	if (!error)
		shutdown(tunnel->watch.fd, SHUT_WR);
	tunnel->host_ended = true;
	end_when_both_ended(tunnel);
}

/* For a tenant only its own programs listen. */
static bool is_theirs(const struct tunnel *tunnel)
{
	return tunnel->stream->uid == 0 || listeners_are_of(tunnel->port, tunnel->stream->uid);
}

static void on_connected(struct tunnel *tunnel)
{
	int error = 0, on = 1;
	socklen_t size = sizeof(error);

	if (getsockopt(tunnel->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size) || error) {
		error = connect_next(tunnel);
		if (error)
			stream_fail(tunnel->stream, error);
		return;
	}
	/* Another process may have taken the port since the check. */
	if (!is_theirs(tunnel)) {
		stream_fail(tunnel->stream, ECONNREFUSED);
		return;
	}
	setsockopt(tunnel->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	tunnel->connected = true;
	fd_writer_open(&tunnel->in, tunnel->watch.fd);
	stream_started(tunnel->stream, 0);
}

static void from_peer(struct tunnel *tunnel)
{
	size_t size = DATA_MAX;
	uint8_t *bytes = stream_reserve(tunnel->stream, &size);
	ssize_t got = bytes ? recv(tunnel->watch.fd, bytes, size, 0) : -1;
	int error = errno;

	if (!bytes || (got < 0 && (error == EAGAIN || error == EINTR)))
		return;
	if (got < 0) {
		stream_fail(tunnel->stream, error);
		return;
	}
	stream_commit(tunnel->stream, 0, (size_t)got);
	if (got > 0)
		return;
	tunnel->peer_ended = true;
	stream_eof(tunnel->stream, 0);
	end_when_both_ended(tunnel);
}

static short want(struct watch *watch)
{
	struct tunnel *tunnel = container_of(watch, struct tunnel, watch);

	if (!tunnel->connected)
		return POLLOUT;
	return !tunnel->peer_ended && stream_room(tunnel->stream) > 0 ? POLLIN : 0;
}

static void ready(struct watch *watch, short events)
{
	struct tunnel *tunnel = container_of(watch, struct tunnel, watch);

	(void)events;
	if (tunnel->connected)
		from_peer(tunnel);
	else
		on_connected(tunnel);
}

static int open_tunnel(struct stream *stream, struct reader *arguments)
{
	uint16_t port = read_u16(arguments);
	struct tunnel *tunnel;
	int error = 0;

	if (!reader_done(arguments) || port == 0)
		return EINVAL;
	tunnel = calloc(1, sizeof(*tunnel));
	if (!tunnel)
		return ENOMEM;
	*tunnel = (struct tunnel){ .stream = stream, .port = port, .watch = { .fd = -1, .want = want, .ready = ready } };
	tunnel->in.stream = stream;
	tunnel->in.done = input_done;
	tunnel->in.watch.fd = -1;
	stream->work = tunnel;
	if (!is_theirs(tunnel))
		error = ECONNREFUSED;
	else if (begin_connect(tunnel))
		error = connect_next(tunnel);
	else
		watch_add(&tunnel->watch);
	return error;
}

/* Bytes before STARTED are allowed; they are dropped. */
static void tunnel_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct tunnel *tunnel = stream->work;

	fd_writer_data(&tunnel->in, bytes, size);
}

static void tunnel_eof(struct stream *stream)
{
	struct tunnel *tunnel = stream->work;

	fd_writer_eof(&tunnel->in);
}

static void tunnel_gone(struct stream *stream)
{
	struct tunnel *tunnel = stream->work;

	if (!tunnel)
		return;
	tunnel->in.stream = NULL;
	fd_writer_stop(&tunnel->in);
	watch_remove(&tunnel->watch);
	close_end(&tunnel->watch.fd);
	free(tunnel);
}

const struct stream_kind connect_kind = {
	.open = open_tunnel,
	.data = tunnel_data,
	.eof = tunnel_eof,
	.gone = tunnel_gone,
};
