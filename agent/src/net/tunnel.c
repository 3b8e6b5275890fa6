/* Carries bytes between a stream and a socket. */
#define _GNU_SOURCE
#include "net/tunnel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/descriptors.h"

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

static short want(struct watch *watch)
{
	struct tunnel *tunnel = container_of(watch, struct tunnel, watch);

	return !tunnel->peer_ended && stream_room(tunnel->stream) > 0 ? POLLIN : 0;
}

static void from_peer(struct watch *watch, short events)
{
	struct tunnel *tunnel = container_of(watch, struct tunnel, watch);
	size_t size = DATA_MAX;
	uint8_t *bytes = stream_reserve(tunnel->stream, &size);
	ssize_t got = bytes ? recv(watch->fd, bytes, size, 0) : -1;
	int error = errno;

	(void)events;
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

void tunnel_init(struct tunnel *tunnel, struct stream *stream)
{
	*tunnel = (struct tunnel){
		.stream = stream,
		.watch = { .fd = -1, .want = want, .ready = from_peer },
		.in = { .stream = stream, .done = input_done, .watch.fd = -1 },
	};
}

void tunnel_connect(struct tunnel *tunnel, int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	tunnel->watch.fd = fd;
	fd_writer_open(&tunnel->in, fd);
	watch_add(&tunnel->watch);
}

void tunnel_close(struct tunnel *tunnel)
{
	tunnel->in.stream = NULL;
	fd_writer_stop(&tunnel->in);
	watch_remove(&tunnel->watch);
	close_end(&tunnel->watch.fd);
}
