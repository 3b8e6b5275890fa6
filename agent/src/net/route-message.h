/* Requests to the kernel about interfaces, addresses and routes. rtnetlink(7) */
#ifndef SVC_ROUTE_MESSAGE_H
#define SVC_ROUTE_MESSAGE_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

struct route_message {
	struct nlmsghdr head;
	uint8_t rest[512];
};

/* Begins a request: `facts` is what this type of request starts with. */
struct route_message route_begin(uint16_t type, uint16_t flags, const void *facts, size_t size);
/* Adds an attribute; returns it, so that others can be put inside it. */
struct rtattr *route_put(struct route_message *message, uint16_t type, const void *bytes, size_t size);
/* Ends an attribute that holds others. */
void route_close(struct route_message *message, struct rtattr *nest);
/* Opens a socket for requests in the current network namespace, or returns -1. */
int route_open(void);
/* Sends the request and waits for its answer: 0, or -1 with errno. */
int route_ask(int fd, struct route_message *message);

#endif
