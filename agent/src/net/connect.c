/* `connect`: a TCP connection to the loopback of the sandbox. */
#define _GNU_SOURCE
#include "net/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/descriptors.h"
#include "net/listeners.h"
#include "net/tunnel.h"

struct outgoing {
	struct tunnel tunnel;
	struct watch connecting; /* fd -1 once it is connected */
	uint16_t port;
	bool tried_all;
};

static int begin_connect(struct outgoing *outgoing)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(outgoing->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(outgoing->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool is_six = outgoing->tried_all;
	int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status;

	if (fd < 0)
		return -1;
	outgoing->connecting.fd = fd;
	status = is_six ? connect(fd, (struct sockaddr *)&six, sizeof(six))
		: connect(fd, (struct sockaddr *)&four, sizeof(four));
	return status == 0 || errno == EINPROGRESS ? 0 : -1;
}

/* Tries the other address, or reports ECONNREFUSED: the second error adds nothing to the first. */
static int connect_next(struct outgoing *outgoing)
{
	watch_remove(&outgoing->connecting);
	close_end(&outgoing->connecting.fd);
	if (outgoing->tried_all)
		return ECONNREFUSED;
	outgoing->tried_all = true;
	if (begin_connect(outgoing)) {
		close_end(&outgoing->connecting.fd);
		return ECONNREFUSED;
	}
	watch_add(&outgoing->connecting);
	return 0;
}

/* For a tenant only its own programs listen. */
static bool is_theirs(const struct outgoing *outgoing)
{
	uid_t uid = outgoing->tunnel.stream->uid;

	return uid == 0 || listeners_are_of(outgoing->port, uid);
}

static short want(struct watch *watch)
{
	(void)watch;
	return POLLOUT;
}

static void on_connected(struct watch *watch, short events)
{
	struct outgoing *outgoing = container_of(watch, struct outgoing, connecting);
	struct stream *stream = outgoing->tunnel.stream;
	int error = 0, fd = watch->fd;
	socklen_t size = sizeof(error);

	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) || error) {
		error = connect_next(outgoing);
		if (error)
			stream_fail(stream, error);
		return;
	}
	/* Another process may have taken the port since the check. */
	if (!is_theirs(outgoing)) {
		stream_fail(stream, ECONNREFUSED);
		return;
	}
	watch_remove(watch);
	watch->fd = -1;
	tunnel_connect(&outgoing->tunnel, fd);
	stream_started(stream, 0);
}

static int open_outgoing(struct stream *stream, struct reader *arguments)
{
	uint16_t port = read_u16(arguments);
	struct outgoing *outgoing;
	int error = 0;

	if (!reader_done(arguments) || port == 0)
		return EINVAL;
	outgoing = calloc(1, sizeof(*outgoing));
	if (!outgoing)
		return ENOMEM;
	tunnel_init(&outgoing->tunnel, stream);
	outgoing->connecting = (struct watch){ .fd = -1, .want = want, .ready = on_connected };
	outgoing->port = port;
	stream->work = outgoing;
	if (!is_theirs(outgoing))
		error = ECONNREFUSED;
	else if (begin_connect(outgoing))
		error = connect_next(outgoing);
	else
		watch_add(&outgoing->connecting);
	return error;
}

/* Bytes before STARTED are allowed; they are dropped. */
static void outgoing_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	struct outgoing *outgoing = stream->work;

	fd_writer_data(&outgoing->tunnel.in, bytes, size);
}

static void outgoing_eof(struct stream *stream)
{
	struct outgoing *outgoing = stream->work;

	fd_writer_eof(&outgoing->tunnel.in);
}

static void outgoing_gone(struct stream *stream)
{
	struct outgoing *outgoing = stream->work;

	if (!outgoing)
		return;
	watch_remove(&outgoing->connecting);
	close_end(&outgoing->connecting.fd);
	tunnel_close(&outgoing->tunnel);
	free(outgoing);
}

const struct stream_kind connect_kind = {
	.open = open_outgoing,
	.data = outgoing_data,
	.eof = outgoing_eof,
	.gone = outgoing_gone,
};
