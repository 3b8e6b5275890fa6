/* `accept` waits for one connection to a listener, and carries its bytes. */
#ifndef SVC_ACCEPT_H
#define SVC_ACCEPT_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/loop.h"

/* How a program connected. */
#define BY_PROXY 1
#define BY_GATE 2

#define BACKLOG 128

struct listener {
	struct watch watch; /* fd -1 while there is none */
	uint8_t how;
	uint16_t port; /* 0: none yet */
};

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* A listener without a socket. */
struct listener listener_of(uint8_t how);
/* Its connections go to the streams that wait, from now on. `fd` listens. */
void listener_start(struct listener *listener, int fd);

#endif
