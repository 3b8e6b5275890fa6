/* Packets between launch and init. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "init/launch.h"

int packet_send(int to, char type, const char *text, int fd)
{
	char bytes[PACKET_MAX];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	int size = snprintf(bytes, sizeof(bytes), "%c%s", type, text);
	struct iovec part = { .iov_base = bytes, .iov_len = (size_t)size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(to, &message, MSG_NOSIGNAL) == size ? 0 : -1;
}
