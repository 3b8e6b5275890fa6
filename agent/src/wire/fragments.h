/* Arguments longer than a frame: PARTs, kept until their OPEN or CALL arrives. */
#ifndef SVC_FRAGMENTS_H
#define SVC_FRAGMENTS_H

#include "wire/frame.h"
#include "wire/wire.h"

#define ARGUMENTS_MAX (2 * 1024 * 1024)
#define PARTED_MAX 16

struct parts {
	struct reader arguments; /* without the byte for kind or method */
	void *joined;            /* to be freed; NULL when the arguments fit into the frame */
};

/* Keeps a PART; -1 when it violates the protocol or there is no memory. */
int fragments_take(const struct frame *frame);
/* Assembles all arguments of an OPEN or CALL; -1 as above. */
int fragments_join(struct parts *parts, const struct frame *frame);
void fragments_drop(uint32_t stream);
void fragments_drop_all(void);

#endif
