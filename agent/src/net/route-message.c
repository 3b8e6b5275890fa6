#define _GNU_SOURCE
#include "net/route-message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct route_message route_begin(uint16_t type, uint16_t flags, const void *facts, size_t size)
{
	struct route_message message = { 0 };

	message.head.nlmsg_type = type;
	message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message.head.nlmsg_len = (uint32_t)NLMSG_SPACE(size);
	memcpy(message.rest, facts, size);
	return message;
}

struct rtattr *route_put(struct route_message *message, uint16_t type, const void *bytes, size_t size)
{
	struct rtattr *attribute = (struct rtattr *)(void *)((uint8_t *)message + NLMSG_ALIGN(message->head.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), bytes, size);
	message->head.nlmsg_len = NLMSG_ALIGN(message->head.nlmsg_len) + (uint32_t)RTA_SPACE(size);
	return attribute;
}

void route_close(struct route_message *message, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)((uint8_t *)message + message->head.nlmsg_len - (uint8_t *)nest);
}

int route_open(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

int route_ask(int fd, struct route_message *message)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		uint8_t rest[1024];
	} answer;
	ssize_t got;

	if (send(fd, message, message->head.nlmsg_len, 0) < 0)
		return -1;
	got = recv(fd, &answer, sizeof(answer), 0);
	if (got < (ssize_t)(sizeof(answer.head) + sizeof(answer.error.error)) || answer.head.nlmsg_type != NLMSG_ERROR) {
		errno = got < 0 ? errno : EPROTO;
		return -1;
	}
	errno = -answer.error.error;
	return answer.error.error ? -1 : 0;
}
