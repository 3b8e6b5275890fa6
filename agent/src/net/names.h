/* The names that programs asked for, each with an address of its own out of 198.18.0.0/15: the gate knows by the
 * address which name a connection is for. Names keep their addresses while the agent lives. */
#ifndef SVC_NAMES_H
#define SVC_NAMES_H

#include <stdint.h>

#define NAME_SIZE 254 /* the longest, and a NUL */

/* Returns the address of the name, in host order, which it gets now unless it has one; 0 when there are too many names,
 * or no memory. The name is in lower case, without a last dot. */
uint32_t names_give(const char *name);
/* Returns the name that has the address, or NULL. */
const char *names_find(uint32_t address);

#endif
