/* Connections that the agent makes itself, to a socket on which the host listens. A session moves there from a stream that is
 * slower. The agent proves itself by a nonce that the host gave it in another way. */
#ifndef SVC_DIAL_H
#define SVC_DIAL_H

#include <stdbool.h>

#include "agent.h"
#include "wire/stream.h"

extern const struct stream_kind dial_kind;

/* Keeps the path of the options and connects for the first time; a failure is logged only. Without a path it does nothing. */
void dial_first(const struct serve_options *options);
/* Returns whether there is a path. */
bool dial_is_possible(void);

#endif
