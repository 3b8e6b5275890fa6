/* Brings up the loopback interface, which is down in a new network namespace. */
#define _GNU_SOURCE
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/init.h"

int network_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int failed;

	if (fd < 0)
		return fail("loopback");
	failed = ioctl(fd, SIOCGIFFLAGS, &request);
	/* In the host's network it is up, and this process may not change it. */
	if (!failed && !(request.ifr_flags & IFF_UP)) {
		request.ifr_flags |= IFF_UP | IFF_RUNNING;
		failed = ioctl(fd, SIOCSIFFLAGS, &request);
	}
	close(fd);
	return failed ? fail("loopback") : 0;
}
