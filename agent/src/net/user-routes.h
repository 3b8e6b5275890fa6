/* What a user-mode network reaches: an address for which the kernel has no route is not asked for, and the programs have no
 * right over routes. */
#ifndef SVC_USER_ROUTES_H
#define SVC_USER_ROUTES_H

#include "base/settings.h"

/* Of a range that is nobody's (RFC 2544), so that no network of the host is hidden. */
#define USER_NETWORK "198.18.0.0/24"
#define USER_GATEWAY "198.18.0.2"
#define USER_LINK "tap0"

/* In the network namespace, when its link is up: network_reach=<address> leads through the link, also where a network_block=
 * <address>/<bits> that covers it is unreachable. IPv4 alone: there is no other route. Returns 0, or -1 with errno.
 * (user-routes.c) */
int user_routes(const struct settings *s);

#endif
