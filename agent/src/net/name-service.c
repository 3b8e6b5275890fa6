#define _GNU_SOURCE
#include "net/name-service.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/loop.h"
#include "net/name-packet.h"

/* Answers a second: a flood of questions leaves time for other work. */
#define RATE 2000
#define SECOND_US 1000000
#define AT_ONCE 32

static struct watch service;
static uint64_t second;
static unsigned answered;

/* The kernel keeps questions beyond the rate, as many as the socket has room for. */
static bool has_rate(void)
{
	uint64_t now = now_us() / SECOND_US;

	if (now != second)
		answered = 0;
	second = now;
	return answered < RATE;
}

static void wake(struct timer *timer)
{
	(void)timer;
}

static struct timer next_second = { .fire = wake };

static short want(struct watch *watch)
{
	(void)watch;
	if (has_rate())
		return POLLIN;
	timer_set(&next_second, SECOND_US - now_us() % SECOND_US);
	return 0;
}

/* The control message of a question says which address was asked; as one of the answer it says which address answers. */
static void keep_address_alone(struct msghdr *message)
{
	for (struct cmsghdr *each = CMSG_FIRSTHDR(message); each; each = CMSG_NXTHDR(message, each)) {
		if (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_PKTINFO)
			((struct in6_pktinfo *)(void *)CMSG_DATA(each))->ipi6_ifindex = 0;
		if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo *info = (struct in_pktinfo *)(void *)CMSG_DATA(each);

			info->ipi_ifindex = 0;
			info->ipi_spec_dst = info->ipi_addr;
		}
	}
}

static bool answer_one(int fd)
{
	uint8_t question[NAME_PACKET_MAX], answer[NAME_PACKET_MAX];
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control;
	struct sockaddr_in6 from;
	struct iovec part = { question, sizeof(question) };
	struct msghdr message = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(fd, &message, 0);

	if (got < 0)
		return false;
	if (message.msg_flags & MSG_TRUNC)
		return true;
	part = (struct iovec){ answer, name_answer(question, (size_t)got, answer) };
	keep_address_alone(&message);
	if (part.iov_len > 0 && sendmsg(fd, &message, MSG_DONTWAIT) > 0)
		answered++;
	return true;
}

static void ready(struct watch *watch, short events)
{
	(void)events;
	for (int i = 0; i < AT_ONCE && has_rate() && answer_one(watch->fd); i++)
		;
}

void name_service_start(int fd)
{
	service = (struct watch){ .fd = fd, .want = want, .ready = ready };
	watch_add(&service);
}
