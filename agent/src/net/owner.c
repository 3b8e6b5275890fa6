/* The kernel is asked for one socket by its addresses and ports: lists of all sockets take a millisecond on machines with
 * much memory. sock_diag(7) */
#define _GNU_SOURCE
#include "net/owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/listeners.h"

#define ESTABLISHED 1
/* Whatever the socket's own is. */
#define ANY_COOKIE (~0U)

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 wanted;
};

union reply {
	struct nlmsghdr head;
	uint8_t bytes[1024];
};

/* Kernels without this never answer with a socket. */
static bool has_answered;

static int kernel(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	return fd;
}

/* The socket of the program: what is its peer here is its own there. */
static struct question question_of(const union address *peer, const union address *own)
{
	struct question question = {
		.head = { .nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.wanted = { .sdiag_family = (uint8_t)peer->any.sa_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U },
	};
	struct inet_diag_sockid *id = &question.wanted.id;

	id->idiag_cookie[0] = id->idiag_cookie[1] = ANY_COOKIE;
	if (peer->any.sa_family == AF_INET6) {
		id->idiag_sport = peer->six.sin6_port;
		id->idiag_dport = own->six.sin6_port;
		memcpy(id->idiag_src, &peer->six.sin6_addr, sizeof(peer->six.sin6_addr));
		memcpy(id->idiag_dst, &own->six.sin6_addr, sizeof(own->six.sin6_addr));
	} else {
		id->idiag_sport = peer->four.sin_port;
		id->idiag_dport = own->four.sin_port;
		id->idiag_src[0] = peer->four.sin_addr.s_addr;
		id->idiag_dst[0] = own->four.sin_addr.s_addr;
	}
	return question;
}

/* The answer is there when the question has been sent. A former one, which nobody took, is passed over. */
static bool ask(const union address *peer, const union address *own, uid_t *uid)
{
	struct question question = question_of(peer, own);
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	static uint32_t number;
	union reply reply;
	ssize_t got;

	question.head.nlmsg_seq = ++number;
	if (kernel() < 0 || sendto(kernel(), &question, sizeof(question), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return false;
	while ((got = recv(kernel(), &reply, sizeof(reply), 0)) > 0) {
		const struct inet_diag_msg *found = NLMSG_DATA(&reply.head);

		if (reply.head.nlmsg_seq != number)
			continue;
		if (reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || got < (ssize_t)NLMSG_LENGTH(sizeof(*found)))
			return false;
		has_answered = true;
		*uid = found->idiag_uid;
		/* Without such a connection the kernel finds the listener. */
		return found->idiag_state == ESTABLISHED;
	}
	return false;
}

uint16_t address_port(const union address *address)
{
	return ntohs(address->any.sa_family == AF_INET6 ? address->six.sin6_port : address->four.sin_port);
}

bool connection_owner(const union address *peer, const union address *own, uid_t *uid)
{
	if (ask(peer, own, uid))
		return true;
	return !has_answered && listed_owner(address_port(peer), address_port(own), uid);
}
