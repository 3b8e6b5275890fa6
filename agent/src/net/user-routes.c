#define _GNU_SOURCE
#include "net/user-routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/route-message.h"

#define ADDRESS_BITS 32

/* Returns -1 for what is no range. */
static int parse_range(const char *text, struct in_addr *address, unsigned *bits)
{
	char first[INET_ADDRSTRLEN];
	size_t length = strcspn(text, "/");

	if (length >= sizeof(first))
		return -1;
	memcpy(first, text, length);
	first[length] = '\0';
	*bits = text[length] ? (unsigned)strtoul(text + length + 1, NULL, 10) : ADDRESS_BITS;
	return inet_pton(AF_INET, first, address) == 1 && *bits <= ADDRESS_BITS ? 0 : -1;
}

/* `gateway` NULL: unreachable. One that is there already is left as it is. */
static int add_route(int fd, const char *range, const struct in_addr *gateway)
{
	struct in_addr address;
	unsigned bits;
	uint32_t link = if_nametoindex(USER_LINK);
	struct rtmsg facts = { .rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_UNIVERSE, .rtm_type = gateway ? RTN_UNICAST : RTN_UNREACHABLE };
	struct route_message message;

	if (parse_range(range, &address, &bits) || link == 0) {
		errno = EINVAL;
		return -1;
	}
	facts.rtm_dst_len = (uint8_t)bits;
	message = route_begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &facts, sizeof(facts));
	route_put(&message, RTA_DST, &address, sizeof(address));
	if (gateway) {
		route_put(&message, RTA_GATEWAY, gateway, sizeof(*gateway));
		route_put(&message, RTA_OIF, &link, sizeof(link));
	}
	return route_ask(fd, &message) && errno != EEXIST ? -1 : 0;
}

int user_routes(const struct settings *s)
{
	struct in_addr gateway;
	const char *range;
	size_t cursor = 0;
	int fd = route_open();

	if (fd < 0)
		return -1;
	inet_pton(AF_INET, USER_GATEWAY, &gateway);
	while ((range = settings_each(s, "network_reach", &cursor)))
		if (add_route(fd, range, &gateway))
			return -1;
	cursor = 0;
	while ((range = settings_each(s, "network_block", &cursor)))
		if (add_route(fd, range, NULL))
			return -1;
	return close(fd);
}
