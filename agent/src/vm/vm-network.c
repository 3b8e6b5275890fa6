/* Loopback, and the card of QEMU's user network with the addresses that this network always has. (QEMU docs, -netdev
 * user) */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <net/route.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/init.h"
#include "vm/vm.h"

#define CARD "eth0"
#define OWN "10.0.2.15"
#define MASK "255.255.255.0"
#define GATEWAY "10.0.2.2"
#define RESOLVER "nameserver 10.0.2.3\n"

static void set_address(struct sockaddr *to, const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &address.sin_addr);
	memcpy(to, &address, sizeof(address));
}

static int set_up(int fd)
{
	struct ifreq request = { .ifr_name = CARD };

	set_address(&request.ifr_addr, OWN);
	if (ioctl(fd, SIOCSIFADDR, &request))
		return -1;
	set_address(&request.ifr_netmask, MASK);
	if (ioctl(fd, SIOCSIFNETMASK, &request))
		return -1;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

static int set_route(int fd)
{
	struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };

	set_address(&route.rt_gateway, GATEWAY);
	set_address(&route.rt_dst, "0.0.0.0");
	set_address(&route.rt_genmask, "0.0.0.0");
	return ioctl(fd, SIOCADDRT, &route);
}

static int card_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int failed = fd < 0 || set_up(fd) || set_route(fd);

	if (fd >= 0)
		close(fd);
	return failed || vm_write("/etc/resolv.conf", RESOLVER) ? fail("network card") : 0;
}

int vm_network(const struct settings *s)
{
	const char *network = settings_get(s, "network");

	if (network_up())
		return -1;
	return network && strcmp(network, "user") == 0 ? card_up() : 0;
}

int vm_gate(int sockets[GATE_SOCKETS])
{
	if (gate_space_make(sockets))
		return -1;
	return vm_write("/etc/resolv.conf", GATE_RESOLVER) ? fail("gate: /etc/resolv.conf") : 0;
}
