/* Bytes of the host on their way into a descriptor that takes them when it likes. They are at most the stream's credit,
 * which goes back as the descriptor takes them. */
#ifndef SVC_FD_WRITER_H
#define SVC_FD_WRITER_H

#include "base/loop.h"
#include "wire/stream.h"

struct fd_writer {
	struct watch watch;    /* fd -1: closed, everything is dropped */
	struct stream *stream; /* gets the credit back; NULL: nobody */
	uint8_t *bytes;
	size_t start, end, room;
	bool ends;             /* the host has said EOF */
	/* All bytes before the EOF are taken, or the descriptor takes nothing any more (errno in `error`, else 0). Once;
	 * the writer does not touch the descriptor after it. */
	void (*done)(struct fd_writer *writer, int error);
};

/* The descriptor is non-blocking; -1 for none. */
void fd_writer_open(struct fd_writer *writer, int fd);
void fd_writer_data(struct fd_writer *writer, const uint8_t *bytes, size_t size);
void fd_writer_eof(struct fd_writer *writer);
/* Drops what is left and forgets the descriptor, which stays open. Safe twice. */
void fd_writer_stop(struct fd_writer *writer);

#endif
