/* Calls that the agent answers itself, at once. */
#ifndef SVC_CALLS_H
#define SVC_CALLS_H

#include "wire/stream.h"

extern const struct stream_kind ping_kind, signal_kind, resize_kind, seed_kind, shutdown_kind;

/* The host has asked for the end. */
bool shutdown_is_due(void);

#endif
