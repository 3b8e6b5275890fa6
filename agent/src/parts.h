/* Arguments longer than a frame: PARTs, kept until the OPEN or CALL that they belong to. */
#ifndef SVC_PARTS_H
#define SVC_PARTS_H

#include "frame.h"
#include "wire.h"

#define ARGUMENTS_MAX (2 * 1024 * 1024)
#define PARTED_MAX 16

struct parts {
	struct reader arguments; /* without the byte that names kind or method */
	void *joined;            /* to be freed; NULL when the arguments are in the frame itself */
};

/* Keeps a PART; -1 when it breaks the rules or there is no memory. */
int parts_take(const struct frame *frame);
/* All arguments of an OPEN or CALL; -1 as above. */
int parts_join(struct parts *parts, const struct frame *frame);
void parts_drop(uint32_t stream);
void parts_drop_all(void);

#endif
