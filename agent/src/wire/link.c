/* Connections. Each resynchronises until a HELLO makes it the session's; a session that fails resynchronises again. */
#define _GNU_SOURCE
#include "wire/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/loop.h"
#include "wire/frame.h"
#include "wire/resync.h"
#include "wire/session.h"

#define BUFFER_SIZE (3 * (FRAME_MAX + 4)) /* whole frames */
#define RESYNCING_MAX 4
#define HUNT_US 5000000
#define SILENCE_US 20000

enum stage { HUNT, HELLO, OPEN };

struct conn {
	struct conn *next; /* the newest first */
	struct watch in, out;
	struct timer timer; /* the end of a resync; the next look at a stream without a host */
	enum stage stage;
	struct resync resync;
	bool is_lasting, waits; /* a byte stream without connections: only the host ends it */
	size_t start, end;
	uint8_t buffer[BUFFER_SIZE];
};

static struct conn *conns;
static struct watch listening;

static void conn_close(struct conn *conn, const char *reason)
{
	struct conn **at = &conns;

	if (session_conn() == conn)
		session_end(reason);
	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
	timer_stop(&conn->timer);
	watch_remove(&conn->in);
	watch_remove(&conn->out);
	close_end(&conn->in.fd);
	free(conn);
}

static void resync_again(struct conn *conn)
{
	conn->stage = HUNT;
	conn->resync = (struct resync){ 0 };
	if (!conn->is_lasting)
		timer_set(&conn->timer, HUNT_US);
}

/* Beyond the limit the oldest unauthenticated connections are closed, so that a new host is served. */
static void limit_hunting(void)
{
	struct conn *next;
	int resyncing = 0;

	for (struct conn *conn = conns; conn; conn = next) {
		next = conn->next;
		if (!conn->is_lasting && conn->stage != OPEN && ++resyncing > RESYNCING_MAX)
			conn_close(conn, "");
	}
}

/* The previous session's connection is closed with it; a permanent stream waits for the next session. */
static bool begin_session(struct conn *conn, const struct frame *hello)
{
	struct conn *old = session_conn();

	if (session_start(conn, hello))
		return false;
	conn->stage = OPEN;
	if (!conn->is_lasting)
		timer_stop(&conn->timer);
	if (old && old != conn && old->is_lasting)
		resync_again(old);
	else if (old && old != conn)
		conn_close(old, "");
	return true;
}

static void session_fault(struct conn *conn, const char *reason)
{
	session_end(reason);
	resync_again(conn);
}

static void take_frame(struct conn *conn, const struct frame *frame)
{
	if (conn->stage == HELLO) {
		if (!begin_session(conn, frame))
			resync_again(conn);
		return;
	}
	if (session_take(frame))
		session_fault(conn, "the host violated the protocol");
	else if (session_is_broken())
		session_fault(conn, "the host does not read, or memory is exhausted");
}

/* Parses one step of the input; returns false when more is needed. */
static bool advance(struct conn *conn)
{
	uint8_t *bytes = conn->buffer + conn->start;
	size_t size = conn->end - conn->start;
	struct frame frame;
	ssize_t used;
	bool found;

	if (size == 0)
		return false;
	if (conn->stage == HUNT) {
		used = (ssize_t)resync_take(&conn->resync, bytes, size, &found);
		/* The secret may be among them. */
		explicit_bzero(bytes, (size_t)used);
		conn->start += (size_t)used;
		conn->stage = found ? HELLO : HUNT;
		return true;
	}
	used = frame_parse(bytes, size, &frame);
	if (used == 0)
		return false;
	conn->start += used < 0 ? 4 : (size_t)used;
	if (used > 0)
		take_frame(conn, &frame);
	else if (conn->stage == OPEN)
		session_fault(conn, "a frame has an invalid length");
	else
		resync_again(conn);
	return true;
}

static void advance_all(struct conn *conn)
{
	while (advance(conn))
		;
	memmove(conn->buffer, conn->buffer + conn->start, conn->end - conn->start);
	conn->end -= conn->start;
	conn->start = 0;
}

/* A stream without connections reports endlessly that its host is away: check again a little later. */
static void host_is_away(struct conn *conn)
{
	if (!conn->is_lasting) {
		conn_close(conn, "the connection ended");
		return;
	}
	if (session_conn() == conn)
		session_fault(conn, "the host disconnected");
	conn->waits = true;
	timer_set(&conn->timer, SILENCE_US);
}

static short want_in(struct watch *watch)
{
	return container_of(watch, struct conn, in)->waits ? 0 : POLLIN;
}

static void in_ready(struct watch *watch, short events)
{
	struct conn *conn = container_of(watch, struct conn, in);
	ssize_t got = read(watch->fd, conn->buffer + conn->end, BUFFER_SIZE - conn->end);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		host_is_away(conn);
		return;
	}
	conn->end += (size_t)got;
	advance_all(conn);
}

static short want_out(struct watch *watch)
{
	struct conn *conn = container_of(watch, struct conn, out);

	return !conn->waits && session_conn() == conn && session_has_output() ? POLLOUT : 0;
}

static void out_ready(struct watch *watch, short events)
{
	struct conn *conn = container_of(watch, struct conn, out);

	(void)events;
	if (session_write(watch->fd))
		host_is_away(conn);
}

static void on_timer(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, timer);

	if (!conn->is_lasting)
		conn_close(conn, "");
	else
		conn->waits = false;
}

static struct conn *conn_add(int in_fd, int out_fd)
{
	struct conn *conn = malloc(sizeof(*conn));

	if (!conn)
		return NULL;
	memset(conn, 0, offsetof(struct conn, buffer));
	conn->in = (struct watch){ .fd = in_fd, .want = want_in, .ready = in_ready };
	conn->out = (struct watch){ .fd = out_fd, .want = want_out, .ready = out_ready };
	conn->timer.fire = on_timer;
	conn->next = conns;
	conns = conn;
	watch_add(&conn->in);
	watch_add(&conn->out);
	return conn;
}

static short want_accept(struct watch *watch)
{
	(void)watch;
	return POLLIN;
}

int link_add(int fd)
{
	struct conn *conn = conn_add(fd, fd);

	if (!conn)
		return -1;
	resync_again(conn);
	limit_hunting();
	return 0;
}

static void accept_ready(struct watch *watch, short events)
{
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0 && link_add(fd))
		close_end(&fd);
}

static int open_lasting(const struct serve_options *options)
{
	struct conn *conn;

	if (set_nonblocking(options->in_fd) || set_nonblocking(options->out_fd))
		return -1;
	conn = conn_add(options->in_fd, options->out_fd);
	if (!conn)
		return -1;
	conn->is_lasting = true;
	return 0;
}

int link_open(const struct serve_options *options)
{
	if (options->listen_fd < 0)
		return open_lasting(options);
	if (set_nonblocking(options->listen_fd))
		return -1;
	listening = (struct watch){ .fd = options->listen_fd, .want = want_accept, .ready = accept_ready };
	watch_add(&listening);
	return 0;
}

void link_sweep(void)
{
	if (session_is_broken())
		session_fault(session_conn(), "the host does not read, or memory is exhausted");
}

void link_flush(int ms)
{
	struct conn *conn = session_conn();
	struct pollfd out = { .fd = conn ? conn->out.fd : -1, .events = POLLOUT };

	while (conn && session_has_output())
		if (poll(&out, 1, ms) != 1 || session_write(out.fd))
			return;
}
