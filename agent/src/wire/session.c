/* The one session between the agent and a host. */
#include "wire/session.h"

#include <string.h>
#include <sys/random.h>

#include "base/account.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pipe-room.h"
#include "version.h"
#include "wire/dial.h"
#include "wire/queue.h"
#include "wire/stream.h"

#define HELLO_SIZE (1 + NONCE_SIZE + 4)

static uint64_t started;

static struct {
	struct conn *conn;
	uint32_t tag;
	bool broken;
	struct queue queue;
	struct pipe_room room; /* of the transport */
	uint8_t boot[8];
} session;

void session_init(void)
{
	started = now_us();
	memcpy(session.boot, &started, sizeof(session.boot));
	if (getrandom(session.boot, sizeof(session.boot), GRND_NONBLOCK) < 0)
		log_line("no random bytes are available yet; using the time as the boot number");
}

uint64_t uptime_ms(void)
{
	return (now_us() - started) / 1000;
}

static uint32_t capabilities(void)
{
	return CAPABILITIES | (dial_is_possible() ? CAPABLE_DIAL : 0) | (accounts_are_possible() ? CAPABLE_ACCOUNTS : 0);
}

static void welcome(const uint8_t *nonce)
{
	uint8_t payload[128];
	struct writer writer = writer_to(payload, sizeof(payload));

	memcpy(writer.at, nonce, NONCE_SIZE);
	writer.at += NONCE_SIZE;
	write_number(&writer, PROTOCOL_VERSION, 1);
	write_str(&writer, SVC_BUILD, strlen(SVC_BUILD));
	memcpy(writer.at, session.boot, sizeof(session.boot));
	writer.at += sizeof(session.boot);
	write_number(&writer, capabilities(), 4);
	session_send(FRAME_WELCOME, 0, payload, (size_t)(writer.at - payload));
}

int session_start(struct conn *conn, const struct frame *hello)
{
	if (hello->type != FRAME_HELLO || hello->size != HELLO_SIZE || !frame_tag_fits(hello->tag))
		return -1;
	session_end("a new session started");
	session.conn = conn;
	session.tag = hello->tag;
	session.broken = false;
	welcome(hello->payload + 1);
	log_line("session started");
	return 0;
}

int session_take(const struct frame *frame)
{
	if (frame->tag != session.tag)
		return -1;
	return streams_take(frame);
}

void session_end(const char *reason)
{
	if (!session.conn)
		return;
	session.broken = true;
	streams_drop();
	queue_clear(&session.queue);
	session.conn = NULL;
	log_line("session ended: %s", reason);
}

struct conn *session_conn(void)
{
	return session.conn;
}

bool session_is_broken(void)
{
	return session.conn && session.broken;
}

bool session_has_output(void)
{
	return !queue_is_empty(&session.queue);
}

int session_write(int fd)
{
	ssize_t written = queue_write(&session.queue, fd);

	if (written > 0)
		pipe_room_carried(&session.room, fd, (size_t)written);
	return written < 0 ? -1 : 0;
}

bool session_has_room(void)
{
	return !session.broken && session.queue.chunks < QUEUE_FULL;
}

size_t session_tail_room(void)
{
	size_t room = queue_tail_room(&session.queue);

	return room > FRAME_HEAD + FRAME_TAIL ? room - FRAME_HEAD - FRAME_TAIL : 0;
}

uint8_t *session_reserve(size_t size)
{
	uint8_t *at = session.broken ? NULL : queue_reserve(&session.queue, FRAME_HEAD + size + FRAME_TAIL);

	if (!at) {
		session.broken = true;
		return NULL;
	}
	return at + FRAME_HEAD;
}

static void commit(enum frame_type type, uint32_t stream, uint8_t *payload, size_t size)
{
	frame_head(payload - FRAME_HEAD, type, stream, size);
	store_u32(payload + size, session.tag);
	queue_commit(&session.queue, FRAME_HEAD + size + FRAME_TAIL);
}

void session_commit_data(uint32_t stream, uint8_t channel, size_t size)
{
	/* Nothing was queued since session_reserve(), so this returns the same memory. */
	uint8_t *payload = queue_reserve(&session.queue, 0) + FRAME_HEAD;

	payload[0] = channel;
	commit(FRAME_DATA, stream, payload, 1 + size);
}

void session_send(enum frame_type type, uint32_t stream, const uint8_t *payload, size_t size)
{
	uint8_t *at = session_reserve(size);

	if (!at)
		return;
	if (size)
		memcpy(at, payload, size);
	commit(type, stream, at, size);
}
