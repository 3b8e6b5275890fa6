/* The transports: one duplex stream for ever, or connections of a listening socket. */
#ifndef SVC_LINK_H
#define SVC_LINK_H

#include "agent.h"

/* Returns 0, or -1 with errno. */
int link_open(const struct serve_options *options);
/* Call after the events of a turn: ends a session that failed while they were handled. */
void link_sweep(void);
/* Writes the queued output of the session, for at most this many milliseconds. */
void link_flush(int ms);

#endif
