/* The ways that bytes come in: one duplex stream for ever, or connections of a listening socket. */
#ifndef SVC_LINK_H
#define SVC_LINK_H

#include "agent.h"

/* 0, or -1 with errno. */
int link_open(const struct serve_options *options);
/* After the events of a turn: ends a session that broke while they were handled. */
void link_sweep(void);
/* Writes what the session still has to say, for at most so many milliseconds. */
void link_flush(int ms);

#endif
