/* Whose program listens on a port. */
#ifndef SVC_LISTENERS_H
#define SVC_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether some socket listens on the TCP port, and all that do belong to that uid. False also when nothing can be known. */
bool listeners_are_of(uint16_t port, uid_t uid);

#endif
