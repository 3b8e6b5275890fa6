/* Finds which user's program has a socket. */
#ifndef SVC_LISTENERS_H
#define SVC_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether a socket listens on the TCP port and all such sockets belong to that uid. False also when that cannot
 * be determined. */
bool listeners_are_of(uint16_t port, uid_t uid);
/* Finds whose socket has the local `port` of a connection to the port `to`. False when it is not found. Slow: see
 * owner.h. */
bool listed_owner(uint16_t port, uint16_t to, uid_t *uid);

#endif
