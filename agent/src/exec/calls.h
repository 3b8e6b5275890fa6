/* Calls that the agent answers itself and at once. */
#ifndef SVC_CALLS_H
#define SVC_CALLS_H

#include "wire/stream.h"

extern const struct stream_kind ping_kind, signal_kind, resize_kind, seed_kind, shutdown_kind;

/* Returns whether the host has asked the agent to end. */
bool shutdown_is_due(void);

#endif
