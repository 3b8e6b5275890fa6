/* `gate` makes the listeners. They outlive the session. */
#define _GNU_SOURCE
#include "net/gate.h"

#include <errno.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/failure.h"
#include "base/log.h"
#include "net/accept.h"
#include "net/doors.h"

#define WANTS_GATE 1
#define DID_PROXY 1
#define DID_GATE 2

static uint16_t proxy_port;
static struct listener four, six;
static int (*make_gate)(int sockets[GATE_SOCKETS]);

void gate_make_with(int (*make)(int sockets[GATE_SOCKETS]))
{
	make_gate = make;
}

static int listen_on(struct listener *listener, const union address *address, socklen_t size)
{
	int on = 1;
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* A connection of an earlier listener may still be ending. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &address->any, size) || listen(fd, BACKLOG)) {
		close(fd);
		return -1;
	}
	*listener = listener_of(BY_PROXY);
	listener_start(listener, fd);
	return 0;
}

static void close_proxy(void)
{
	if (proxy_port == 0)
		return;
	watch_remove(&four.watch);
	close_end(&four.watch.fd);
	watch_remove(&six.watch);
	close_end(&six.watch.fd);
	proxy_port = 0;
}

/* Returns whether the proxy listens as asked. IPv6 may be missing: programs are told the IPv4 address. */
static bool listen_for_proxy(uint16_t port)
{
	union address on_four = { .four = { .sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	union address on_six = { .six = { .sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT } };

	/* Connections that wait in a listener that stays are not lost. */
	if (port == proxy_port)
		return port != 0;
	close_proxy();
	six = listener_of(BY_PROXY);
	if (port == 0 || listen_on(&four, &on_four, sizeof(on_four.four)))
		return false;
	if (listen_on(&six, &on_six, sizeof(on_six.six)))
		log_line("gate: no listener on the IPv6 loopback");
	proxy_port = port;
	return true;
}

int gate_listen(uint16_t proxy, const uint16_t *ports, uint16_t count)
{
	uint16_t missing[PORTS_MAX];

	if ((proxy != 0 && !listen_for_proxy(proxy)) || doors_open(ports, count, missing))
		return fail("gate: ports");
	return 0;
}

static bool has_gate(bool is_wanted)
{
	int sockets[GATE_SOCKETS];

	if (doors_exist() || !is_wanted || !make_gate)
		return doors_exist();
	if (make_gate(sockets)) {
		log_line("%s", failure);
		make_gate = NULL;
		return false;
	}
	doors_take(sockets);
	return true;
}

static int open_gate(struct stream *stream, struct reader *arguments)
{
	uint8_t answer[4 + 2 + 2 * (1 + PORTS_MAX)];
	struct writer writer = writer_to(answer, sizeof(answer));
	uint16_t ports[PORTS_MAX], missing[1 + PORTS_MAX], missed = 0;
	uint16_t port = read_u16(arguments);
	bool is_wanted = read_u8(arguments) & WANTS_GATE, done, is_gate;
	uint16_t count = read_u16(arguments);

	if (count > PORTS_MAX)
		return EINVAL;
	for (uint16_t i = 0; i < count; i++)
		ports[i] = read_u16(arguments);
	if (!reader_done(arguments))
		return EINVAL;
	done = listen_for_proxy(port);
	is_gate = has_gate(is_wanted);
	if (is_gate)
		missed = doors_open(ports, is_wanted ? count : 0, missing);
	else
		for (uint16_t i = 0; i < count; i++)
			missing[missed++] = ports[i];
	if (port != 0 && !done)
		missing[missed++] = port;
	write_number(&writer, (done ? DID_PROXY : 0) | (is_gate && is_wanted ? DID_GATE : 0), 4);
	write_number(&writer, missed, 2);
	for (uint16_t i = 0; i < missed; i++)
		write_number(&writer, missing[i], 2);
	stream_result(stream, answer, (size_t)(writer.at - answer));
	return 0;
}

const struct stream_kind gate_kind = { .open = open_gate, .not_for_users = true };
