/* Finds which user's program made a connection. */
#ifndef SVC_OWNER_H
#define SVC_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "net/accept.h"

/* Both addresses are of one family, as getpeername(2) and getsockname(2) of an accepted connection say. False when its
 * program's socket is not found. */
bool connection_owner(const union address *peer, const union address *own, uid_t *uid);
/* In host byte order. */
uint16_t address_port(const union address *address);

#endif
