/* The steps need rights only here: the port numbers that a listener may have are a property of the namespace, and a
 * socket stays in the one it was made in. */
#define _GNU_SOURCE
#include "net/gate-space.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/failure.h"
#include "net/route-message.h"

#define HERE "/proc/self/ns/net"
#define CABLE "eth0"
#define MTU 65535
#define NAMES_PORT 53

struct end {
	const char *four, *six;
};

/* Both ends of the cable. */
static const struct end GATE = { "198.18.0.1", "fd00:7376:6367::1" }, PROGRAMS = { "198.18.0.2", "fd00:7376:6367::2" };
#define FOUR_BITS 30
#define SIX_BITS 126

static size_t address_of(int family, const struct end *end, uint8_t bytes[16])
{
	inet_pton(family, family == AF_INET ? end->four : end->six, bytes);
	return family == AF_INET ? 4 : 16;
}

static int set_up(int fd, int index)
{
	struct ifinfomsg facts = { .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct route_message message = route_begin(RTM_NEWLINK, 0, &facts, sizeof(facts));

	return index == 0 ? -1 : route_ask(fd, &message);
}

static void put_mtu_and_name(struct route_message *message)
{
	uint32_t mtu = MTU;

	route_put(message, IFLA_IFNAME, CABLE, sizeof(CABLE));
	route_put(message, IFLA_MTU, &mtu, sizeof(mtu));
}

/* The other end of the cable lies in the namespace of `there`. */
static int lay_cable(int fd, int there)
{
	struct ifinfomsg facts = { 0 };
	struct route_message message = route_begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &facts, sizeof(facts));
	struct rtattr *link, *data, *peer;
	uint32_t number = (uint32_t)there;

	put_mtu_and_name(&message);
	link = route_put(&message, IFLA_LINKINFO, NULL, 0);
	route_put(&message, IFLA_INFO_KIND, "veth", 4);
	data = route_put(&message, IFLA_INFO_DATA, NULL, 0);
	peer = route_put(&message, VETH_INFO_PEER, &facts, sizeof(facts));
	put_mtu_and_name(&message);
	route_put(&message, IFLA_NET_NS_FD, &number, sizeof(number));
	route_close(&message, peer);
	route_close(&message, data);
	route_close(&message, link);
	return route_ask(fd, &message);
}

static int give_address(int fd, int family, const struct end *end)
{
	uint8_t bytes[16];
	struct ifaddrmsg facts = { .ifa_family = (uint8_t)family, .ifa_index = if_nametoindex(CABLE),
		.ifa_prefixlen = family == AF_INET ? FOUR_BITS : SIX_BITS, .ifa_flags = IFA_F_NODAD };
	struct route_message message = route_begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &facts, sizeof(facts));
	size_t size = address_of(family, end, bytes);

	route_put(&message, IFA_LOCAL, bytes, size);
	route_put(&message, IFA_ADDRESS, bytes, size);
	return route_ask(fd, &message);
}

/* All addresses are this host's own. In the table main, where the routes of the cable are more specific. */
static int own_everything(int fd, int family)
{
	struct rtmsg facts = { .rtm_family = (uint8_t)family, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_HOST, .rtm_type = RTN_LOCAL };
	struct route_message message = route_begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &facts, sizeof(facts));
	uint32_t loopback = if_nametoindex("lo");

	route_put(&message, RTA_OIF, &loopback, sizeof(loopback));
	return route_ask(fd, &message);
}

/* Addresses of the link, too: the kernel looks for those on the cable alone. */
static int own_link_addresses(int fd)
{
	static const uint8_t prefix[16] = { 0xfe, 0x80 };
	struct rtmsg facts = { .rtm_family = AF_INET6, .rtm_dst_len = 10, .rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_HOST, .rtm_type = RTN_LOCAL };
	struct route_message message = route_begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &facts, sizeof(facts));
	uint32_t cable = if_nametoindex(CABLE);

	route_put(&message, RTA_DST, prefix, sizeof(prefix));
	route_put(&message, RTA_OIF, &cable, sizeof(cable));
	return route_ask(fd, &message);
}

static int lead_to_gate(int fd, int family)
{
	uint8_t bytes[16];
	struct rtmsg facts = { .rtm_family = (uint8_t)family, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_UNIVERSE, .rtm_type = RTN_UNICAST };
	struct route_message message = route_begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &facts, sizeof(facts));

	route_put(&message, RTA_GATEWAY, bytes, address_of(family, &GATE, bytes));
	return route_ask(fd, &message);
}

static int set_kernel(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put = fd < 0 ? -1 : write(fd, value, 1);

	if (fd >= 0)
		close(fd);
	return put == 1 ? 0 : -1;
}

/* Before the cable is up: an interface with an address of the link would look for others beside it. */
static void leave_link_addresses(void)
{
	set_kernel("/proc/sys/net/ipv6/conf/" CABLE "/addr_gen_mode", "1");
}

static bool has_six(void)
{
	return access("/proc/sys/net/ipv6", F_OK) == 0;
}

static int open_socket(int type)
{
	int off = 0, on = 1, family = has_six() ? AF_INET6 : AF_INET;
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd;
}

/* Answers must come from the address that was asked, which is no address of an interface. */
static int open_names(void)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(NAMES_PORT) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(NAMES_PORT) };
	int fd = open_socket(SOCK_DGRAM), on = 1, failed;

	if (has_six())
		failed = setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) ||
			 setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) ||
			 bind(fd, (struct sockaddr *)&six, sizeof(six));
	else
		failed = setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) ||
			 bind(fd, (struct sockaddr *)&four, sizeof(four));
	return failed ? -1 : fd;
}

static int open_sockets(int sockets[GATE_SOCKETS])
{
	for (int i = 0; i < GATE_SOCKETS; i++) {
		sockets[i] = i == 0 ? open_names() : open_socket(SOCK_STREAM);
		if (sockets[i] < 0)
			return fail("gate: sockets");
	}
	return 0;
}

/* The gate's side. Pings are not answered: an address that answers them would seem to exist. */
static int build_gate(int fd, int programs)
{
	if (set_up(fd, (int)if_nametoindex("lo")))
		return fail("gate: loopback");
	if (lay_cable(fd, programs))
		return fail("gate: cable (veth)");
	leave_link_addresses();
	if (give_address(fd, AF_INET, &GATE) || set_up(fd, (int)if_nametoindex(CABLE)) || own_everything(fd, AF_INET))
		return fail("gate: routes");
	/* Where IPv6 is switched off, its addresses are unreachable. */
	if (has_six() && give_address(fd, AF_INET6, &GATE) == 0) {
		own_everything(fd, AF_INET6);
		own_link_addresses(fd);
	}
	set_kernel("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1");
	set_kernel("/proc/sys/net/ipv6/icmp/echo_ignore_all", "1");
	if (set_kernel("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"))
		return fail("gate: low ports");
	return 0;
}

static int lead_programs(int fd, int unused)
{
	(void)unused;
	leave_link_addresses();
	if (give_address(fd, AF_INET, &PROGRAMS) || set_up(fd, (int)if_nametoindex(CABLE)) || lead_to_gate(fd, AF_INET))
		return fail("gate: network of the programs");
	if (has_six() && give_address(fd, AF_INET6, &PROGRAMS) == 0)
		lead_to_gate(fd, AF_INET6);
	return 0;
}

static int with_route_socket(int (*work)(int fd, int there), int there)
{
	int fd = route_open(), failed;

	if (fd < 0)
		return fail("gate: route socket");
	failed = work(fd, there);
	close(fd);
	return failed;
}

int gate_space_make(int sockets[GATE_SOCKETS])
{
	int programs = open(HERE, O_RDONLY | O_CLOEXEC), failed;

	if (programs < 0 || unshare(CLONE_NEWNET))
		return fail("gate: network namespace");
	failed = with_route_socket(build_gate, programs) || open_sockets(sockets);
	if (setns(programs, CLONE_NEWNET))
		failed = fail("gate: return to the network of the programs");
	close(programs);
	return failed || with_route_socket(lead_programs, 0) ? -1 : 0;
}
