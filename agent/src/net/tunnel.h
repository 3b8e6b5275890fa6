/* Carries bytes between a stream and a connected TCP socket. Each direction ends by itself; the stream ends with the
 * second, or with the first error. */
#ifndef SVC_TUNNEL_H
#define SVC_TUNNEL_H

#include "wire/fd-writer.h"
#include "wire/stream.h"

struct tunnel {
	struct stream *stream;
	struct watch watch;  /* bytes of the peer; fd -1 until it is connected */
	struct fd_writer in; /* bytes of the host; on the same socket */
	bool peer_ended, host_ended;
};

/* Makes a tunnel without a socket: bytes of the host are dropped. */
void tunnel_init(struct tunnel *tunnel, struct stream *stream);
/* Starts to carry. The tunnel owns the socket, which must be connected and non-blocking. */
void tunnel_connect(struct tunnel *tunnel, int fd);
/* Closes the socket and drops what was not written. Idempotent. */
void tunnel_close(struct tunnel *tunnel);

#endif
