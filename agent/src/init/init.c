/* `svc-agent init`: process 1 of a userspace sandbox, or the first process under a tracer (traced=1). Builds the root
 * (unless the runner did), locks itself down permanently, waits until launch has recorded it, and serves. It takes no
 * settings from arguments: its only argument is a label. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"
#include "init/init.h"
#include "init/launch.h"
#include "net/doors.h"
#include "net/gate.h"

#define MAX_ENVIRONMENT 64
#define MEBIBYTE (1024 * 1024)

char warnings[1024];

static int send_packet(char type, const char *text)
{
	return packet_send(CONTROL_FD, type, text, -1);
}

/* network=: the launcher starts what connects for this namespace. */
static int offer_network(const struct settings *s)
{
	int space, failed;

	if (!settings_get(s, "network"))
		return 0;
	space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	failed = space < 0 || packet_send(CONTROL_FD, PACKET_NETWORK, "", space);
	if (space >= 0)
		close(space);
	return failed ? fail("network: namespace") : 0;
}

static int receive_settings(struct settings *s)
{
	ssize_t size = recv(CONTROL_FD, s->bytes, sizeof(s->bytes), 0);

	s->size = size > 0 ? (size_t)size : 0;
	return settings_check(s) ? fail("settings") : 0;
}

/* Execs inherit none of the runner's descriptors. */
static int quiet_descriptors(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0)
		return fail("/dev/null");
	for (int fd = 0; fd < 3; fd++)
		dup2(nothing, fd);
	if (nothing > 2)
		close(nothing);
	fcntl(LISTEN_FD, F_SETFD, FD_CLOEXEC);
	return fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC);
}

/* gate=launcher: the runner has handed the sockets on; gate=init: they are made here. */
static int take_gate(const struct settings *s)
{
	const char *maker = settings_get(s, "gate");
	int sockets[GATE_SOCKETS];

	if (!maker)
		return 0;
	if (strcmp(maker, "init") == 0 && gate_space_make(sockets))
		return -1;
	for (int i = 0; i < GATE_SOCKETS && strcmp(maker, "launcher") == 0; i++) {
		sockets[i] = GATE_FD + i;
		if (fcntl(sockets[i], F_SETFD, FD_CLOEXEC))
			return fail("gate: the runner kept its sockets");
	}
	doors_take(sockets);
	return 0;
}

/* proxy_port=, gate_port=: programs may connect from their first moment, without waiting for a host to ask for the ports. */
static int open_ports(const struct settings *s)
{
	uint16_t ports[PORTS_MAX], count = 0;
	const char *port;
	size_t cursor = 0;

	while (count < PORTS_MAX && (port = settings_each(s, "gate_port", &cursor)))
		ports[count++] = (uint16_t)strtoul(port, NULL, 10);
	return gate_listen((uint16_t)settings_number(s, "proxy_port", 0), ports, count);
}

/* The steps that need rights over the namespaces; the other runner has done most of them by its own means. */
static int build(const struct settings *s)
{
	int is_traced = settings_get(s, "traced") != NULL;
	int is_built = is_traced || settings_get(s, "built") != NULL, is_pool = settings_get(s, "pool_uid") != NULL;

	if (!is_traced && getpid() != 1)
		return fail("be process 1");
	if (!is_built && (network_up() || root_build(s)))
		return -1;
	if (take_gate(s) || open_ports(s))
		return -1;
	if (is_pool)
		return pool_enter(s);
	return is_built ? 0 : user_enter(s);
}

/* A descriptor that comes with it stays open, so that its other end sees when this process ends. */
static int await_go(void)
{
	char go;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { .iov_base = &go, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	if (send_packet(PACKET_READY, warnings))
		return -1;
	if (recvmsg(CONTROL_FD, &message, MSG_CMSG_CLOEXEC) != 1 || go != PACKET_GO)
		return -1;
	return close(CONTROL_FD);
}

static int serve_settings(struct settings *s)
{
	static const char *environment[MAX_ENVIRONMENT + 1];
	struct serve_options options = { .listen_fd = LISTEN_FD, .in_fd = -1, .out_fd = -1 };
	const char *entry;
	size_t cursor = 0;
	int count = 0;

	while (count < MAX_ENVIRONMENT && (entry = settings_each(s, "env", &cursor)))
		environment[count++] = entry;
	options.env = (char *const *)environment;
	options.workdir = settings_get(s, "workdir");
	options.ignores_owners = settings_get(s, "ignore_owners") != NULL;
	options.is_traced = settings_get(s, "traced") != NULL;
	options.ring_budget = settings_number(s, "ring_budget", MEBIBYTE);
	options.life_ms = settings_number(s, "life_ms", 0);
	if (!options.workdir)
		options.workdir = "/workspace";
	if (settings_secret(s, options.secret))
		return 2;
	return serve(&options);
}

int init_main(int argc, char **argv)
{
	static struct settings settings;

	(void)argc;
	(void)argv;
	if (send_packet(PACKET_HELLO, "")) {
		fputs("only svc-agent launcher starts svc-agent init\n", stderr);
		return 2;
	}
	umask(022);
	if (receive_settings(&settings) || offer_network(&settings) || build(&settings) || quiet_descriptors() || lockdown(&settings)) {
		send_packet(PACKET_FAILED, failure);
		return 1;
	}
	if (await_go())
		return 1;
	return serve_settings(&settings);
}
