/* Buffers the host's bytes for a non-blocking descriptor. They are bounded by the stream's credit, which is returned as
 * the descriptor takes them. */
#ifndef SVC_FD_WRITER_H
#define SVC_FD_WRITER_H

#include "base/loop.h"
#include "wire/stream.h"

struct fd_writer {
	struct watch watch;    /* fd -1: closed, everything is dropped */
	struct stream *stream; /* gets the credit back; NULL: none */
	uint8_t *bytes;
	size_t start, end, room;
	bool ends;             /* the host has sent EOF */
	/* Called once, when all bytes before EOF are written or the descriptor failed (errno in `error`, otherwise 0).
	 * The writer does not touch the descriptor afterwards. */
	void (*done)(struct fd_writer *writer, int error);
};

/* The descriptor must be non-blocking; -1 for none. */
void fd_writer_open(struct fd_writer *writer, int fd);
void fd_writer_data(struct fd_writer *writer, const uint8_t *bytes, size_t size);
void fd_writer_eof(struct fd_writer *writer);
/* Drops the rest and forgets the descriptor, which stays open. Idempotent. */
void fd_writer_stop(struct fd_writer *writer);

#endif
