/* Bytes of the host on their way into a descriptor that takes them when it likes. They are at most the stream's credit,
 * which goes back as the descriptor takes them. */
#ifndef SVC_INFLOW_H
#define SVC_INFLOW_H

#include "loop.h"
#include "stream.h"

struct inflow {
	struct watch watch;    /* fd -1: closed, everything is dropped */
	struct stream *stream; /* gets the credit back; NULL: nobody */
	uint8_t *bytes;
	size_t start, end, room;
	bool ends;             /* the host has said EOF */
	/* All bytes before the EOF are taken, or the descriptor takes nothing any more (errno in `error`, else 0). Once;
	 * the inflow does not touch the descriptor after it. */
	void (*done)(struct inflow *inflow, int error);
};

/* The descriptor is non-blocking; -1 for none. */
void inflow_open(struct inflow *inflow, int fd);
void inflow_data(struct inflow *inflow, const uint8_t *bytes, size_t size);
void inflow_eof(struct inflow *inflow);
/* Drops what is left and forgets the descriptor, which stays open. Safe twice. */
void inflow_stop(struct inflow *inflow);

#endif
