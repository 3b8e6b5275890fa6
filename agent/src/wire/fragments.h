/* Arguments longer than a frame: PARTs, kept until the OPEN or CALL that they belong to. */
#ifndef SVC_FRAGMENTS_H
#define SVC_FRAGMENTS_H

#include "wire/frame.h"
#include "wire/wire.h"

#define ARGUMENTS_MAX (2 * 1024 * 1024)
#define PARTED_MAX 16

struct parts {
	struct reader arguments; /* without the byte that names kind or method */
	void *joined;            /* to be freed; NULL when the arguments are in the frame itself */
};

/* Keeps a PART; -1 when it breaks the rules or there is no memory. */
int fragments_take(const struct frame *frame);
/* All arguments of an OPEN or CALL; -1 as above. */
int fragments_join(struct parts *parts, const struct frame *frame);
void fragments_drop(uint32_t stream);
void fragments_drop_all(void);

#endif
