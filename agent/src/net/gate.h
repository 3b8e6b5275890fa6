/* The ways out of a sandbox without a network: programs connect to the proxy port on the loopback, or in a transparent
 * gate to any address. Each connection becomes a stream of the host, which decides where it leads. */
#ifndef SVC_GATE_H
#define SVC_GATE_H

#include "net/gate-space.h"
#include "wire/stream.h"

extern const struct stream_kind gate_kind;
extern const struct stream_kind accept_kind;

/* Where the gate can be made later: `make` is called when a host first asks for one. It fills in the sockets and returns
 * 0, or -1 with `failure` set. */
void gate_make_with(int (*make)(int sockets[GATE_SOCKETS]));
/* Listens on the port of the proxy (0: none) and on those of the gate before there is a session: what connects waits until
 * a host accepts. Returns 0, or -1 with `failure` set. */
int gate_listen(uint16_t proxy, const uint16_t *ports, uint16_t count);

#endif
