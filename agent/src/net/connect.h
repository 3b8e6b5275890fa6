/* Connections to the sandbox's own loopback. */
#ifndef SVC_CONNECT_H
#define SVC_CONNECT_H

#include "wire/stream.h"

extern const struct stream_kind connect_kind;

#endif
