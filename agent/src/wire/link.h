/* The transports: one duplex stream for ever, connections of a listening socket, and connections to the host's (dial.h). */
#ifndef SVC_LINK_H
#define SVC_LINK_H

#include "agent.h"

/* Returns 0, or -1 with errno. */
int link_open(const struct serve_options *options);
/* Takes over a connection, on which a host may open a session; -1 without memory. */
int link_add(int fd);
/* Call after the events of a turn: ends a session that failed while they were handled. */
void link_sweep(void);
/* Writes the queued output of the session, for at most this many milliseconds. */
void link_flush(int ms);

#endif
