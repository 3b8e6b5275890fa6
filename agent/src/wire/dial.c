/* The host listens before it asks, and opens the session on the connection as on any other. */
#define _GNU_SOURCE
#include "wire/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "wire/frame.h"
#include "wire/link.h"

static const char *host_path;

/* A socket's buffer takes the nonce at once. */
static bool reaches_host(int fd, const uint8_t nonce[NONCE_SIZE])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", host_path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		send(fd, nonce, NONCE_SIZE, MSG_NOSIGNAL) == NONCE_SIZE && link_add(fd) == 0;
}

/* Never waits: a full queue of the host is EAGAIN. */
static int dial(const uint8_t nonce[NONCE_SIZE])
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;

	if (fd < 0 || !reaches_host(fd, nonce)) {
		error = errno ? errno : EIO;
		close_end(&fd);
	}
	return error;
}

void dial_first(const struct serve_options *options)
{
	int error;

	host_path = options->host_path;
	error = host_path ? dial(options->nonce) : 0;
	if (error)
		log_line("cannot connect to the host's socket: %s; waiting on the standard streams", strerror(error));
}

bool dial_is_possible(void)
{
	return host_path != NULL;
}

static int open_dial(struct stream *stream, struct reader *arguments)
{
	size_t size;
	const uint8_t *nonce = read_bytes(arguments, &size);
	int error;

	if (!reader_done(arguments) || size != NONCE_SIZE)
		return EINVAL;
	error = host_path ? dial(nonce) : ENOENT;
	if (error)
		return error;
	stream_result(stream, NULL, 0);
	return 0;
}

const struct stream_kind dial_kind = { .open = open_dial, .not_for_users = true };
