/* The network of a transparent gate: a second network namespace in which every address is local, joined to the
 * programs' one by a cable. Sockets that are made there lead there for ever, whoever holds them. */
#ifndef SVC_GATE_SPACE_H
#define SVC_GATE_SPACE_H

/* Sockets in the gate: the first receives questions for names, the others are for listeners and have no port yet. A
 * listener keeps its port, so their number bounds the different ports of a sandbox's life. */
#define GATE_SOCKETS 97

#define GATE_RESOLVER "nameserver 198.18.0.1\noptions timeout:2 attempts:2\n"

/* Makes the gate and leads the calling process's namespace into it: there, the loopback is the only other interface.
 * Fills in the sockets. Needs rights over the network namespace; later nothing does. Returns 0, or -1 with `failure`
 * set. (gate-space.c) */
int gate_space_make(int sockets[GATE_SOCKETS]);

#endif
