/* The way out of a sandbox without a network: programs connect to the proxy port on the loopback, and each connection
 * becomes a stream of the host, which decides where it leads. */
#ifndef SVC_GATE_H
#define SVC_GATE_H

#include "wire/stream.h"

extern const struct stream_kind gate_kind;
extern const struct stream_kind accept_kind;

#endif
