/* Streams and credit. A stream is found by its number in a small table; ended ones are forgotten at once. */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "session.h"

#define BUCKETS 256
#define CREDIT_STEP 65536
#define CREDIT_MAX 0x7fffffffU
#define LEAST_RESERVE 1024

static struct stream *table[BUCKETS];
static size_t streams, calls;

static struct stream **place(uint32_t id)
{
	struct stream **at = &table[id % BUCKETS];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void forget(struct stream *stream)
{
	struct stream **at = place(stream->id);

	*at = stream->next;
	*(stream->is_call ? &calls : &streams) -= 1;
	if (stream->kind->gone)
		stream->kind->gone(stream);
	free(stream);
}

/* ---- what kinds send */

size_t stream_room(const struct stream *stream)
{
	if (!session_has_room())
		return 0;
	return stream->credit < DATA_MAX ? stream->credit : DATA_MAX;
}

uint8_t *stream_reserve(struct stream *stream, size_t *size)
{
	size_t room = stream_room(stream);
	uint8_t *payload;

	if (*size > room)
		*size = room;
	room = session_tail_room();
	if (room >= LEAST_RESERVE && *size > room - 1)
		*size = room - 1;
	payload = *size ? session_reserve(1 + *size) : NULL;
	return payload ? payload + 1 : NULL;
}

void stream_commit(struct stream *stream, uint8_t channel, size_t size)
{
	if (size == 0)
		return;
	stream->credit -= (uint32_t)size;
	session_commit_data(stream->id, channel, size);
}

size_t stream_send(struct stream *stream, uint8_t channel, const uint8_t *bytes, size_t size)
{
	size_t sent = 0;

	while (sent < size) {
		size_t now = size - sent;
		uint8_t *at = stream_reserve(stream, &now);

		if (!at)
			break;
		memcpy(at, bytes + sent, now);
		stream_commit(stream, channel, now);
		sent += now;
	}
	return sent;
}

void stream_started(struct stream *stream, uint32_t number)
{
	uint8_t payload[4];

	store_u32(payload, number);
	session_send(FRAME_STARTED, stream->id, payload, sizeof(payload));
}

void stream_eof(struct stream *stream, uint8_t channel)
{
	session_send(FRAME_EOF, stream->id, &channel, 1);
}

void stream_took(struct stream *stream, size_t size)
{
	uint8_t payload[4];

	stream->owed += (uint32_t)size;
	if (stream->owed < CREDIT_STEP)
		return;
	store_u32(payload, stream->owed);
	stream->host_credit += stream->owed;
	stream->owed = 0;
	session_send(FRAME_CREDIT, stream->id, payload, sizeof(payload));
}

void stream_result(struct stream *stream, const uint8_t *bytes, size_t size)
{
	session_send(FRAME_RESULT, stream->id, bytes, size);
	forget(stream);
}

static void send_error(uint32_t id, int error)
{
	uint8_t payload[256];
	struct writer writer = writer_to(payload, sizeof(payload));
	const char *text = strerror(error);

	write_number(&writer, (uint32_t)error, 4);
	write_str(&writer, text, strnlen(text, 200));
	session_send(FRAME_ERROR, id, payload, (size_t)(writer.at - payload));
}

void stream_fail(struct stream *stream, int error)
{
	send_error(stream->id, error);
	forget(stream);
}

/* ---- what the host sends */

static struct stream *begin(uint32_t id, const struct stream_kind *kind, bool is_call)
{
	struct stream **at = place(id);
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->id = id;
	stream->kind = kind;
	stream->is_call = is_call;
	stream->credit = stream->host_credit = FIRST_CREDIT;
	*at = stream;
	*(is_call ? &calls : &streams) += 1;
	return stream;
}

/* Behind the number of a kind or method with this bit the arguments begin with the tenant's uid. */
#define FOR_USER 0x80

/* 0 or a positive errno. */
static int read_user(struct stream *stream, const struct frame *frame, struct reader *arguments)
{
	if (!(frame->payload[0] & FOR_USER))
		return 0;
	stream->uid = read_u32(arguments);
	if (arguments->bad || stream->uid == 0 || stream->uid == (uid_t)-1)
		return EINVAL;
	return stream->kind->not_for_users ? EPERM : 0;
}

static void start(const struct frame *frame, const struct stream_kind *kind, struct reader *arguments)
{
	bool is_call = frame->type == FRAME_CALL;
	bool full = is_call ? calls >= CALLS_MAX : streams >= STREAMS_MAX;
	struct stream *stream = kind && !full ? begin(frame->stream, kind, is_call) : NULL;
	int error = full ? EAGAIN : kind ? ENOMEM : ENOSYS;

	if (!stream) {
		send_error(frame->stream, error);
		return;
	}
	error = read_user(stream, frame, arguments);
	if (!error)
		error = kind->open(stream, arguments);
	if (error)
		stream_fail(stream, error);
}

static int take_open(const struct frame *frame)
{
	const struct stream_kind *kind;
	struct parts parts;
	uint8_t number;

	if (frame->size < 1 || *place(frame->stream))
		return -1;
	number = frame->payload[0] & (uint8_t)~FOR_USER;
	kind = frame->type == FRAME_CALL ? kind_of_call(number) : kind_of_open(number);
	if (parts_join(&parts, frame))
		return -1;
	start(frame, kind, &parts.arguments);
	free(parts.joined);
	return 0;
}

static int take_data(struct stream *stream, const struct frame *frame)
{
	size_t size = frame->size - 1;

	if (size > stream->host_credit)
		return -1;
	stream->host_credit -= (uint32_t)size;
	if (stream->cancelled)
		return 0;
	if (stream->kind->data)
		stream->kind->data(stream, frame->payload + 1, size);
	else
		stream_took(stream, size);
	return 0;
}

static int take_credit(struct stream *stream, const struct frame *frame)
{
	uint32_t more = load_u32(frame->payload);

	if (more > CREDIT_MAX || stream->credit + more > CREDIT_MAX)
		return -1;
	stream->credit += more;
	return 0;
}

static void take_cancel(struct stream *stream)
{
	if (stream->cancelled)
		return;
	stream->cancelled = true;
	if (stream->kind->cancel)
		stream->kind->cancel(stream);
	else
		stream_fail(stream, ECANCELED);
}

/* The shape of a frame is judged even when its stream has ended. */
static bool is_well_formed(const struct frame *frame)
{
	switch (frame->type) {
	case FRAME_DATA:
		return frame->size >= 1 && frame->size <= 1 + DATA_MAX && frame->payload[0] == 0;
	case FRAME_EOF:
		return frame->size == 1 && frame->payload[0] == 0;
	case FRAME_CREDIT:
		return frame->size == 4;
	default:
		return frame->size == 0;
	}
}

static int take_known(const struct frame *frame)
{
	struct stream *stream = *place(frame->stream);

	if (!is_well_formed(frame))
		return -1;
	if (frame->type == FRAME_CANCEL)
		parts_drop(frame->stream);
	if (!stream)
		return 0;
	if (frame->type == FRAME_DATA)
		return take_data(stream, frame);
	if (frame->type == FRAME_CREDIT)
		return take_credit(stream, frame);
	if (frame->type == FRAME_CANCEL)
		take_cancel(stream);
	else if (stream->kind->eof && !stream->cancelled)
		stream->kind->eof(stream);
	return 0;
}

int streams_take(const struct frame *frame)
{
	if (frame->stream == 0)
		return -1;
	switch (frame->type) {
	case FRAME_PART:
		return *place(frame->stream) ? -1 : parts_take(frame);
	case FRAME_OPEN:
	case FRAME_CALL:
		return take_open(frame);
	case FRAME_DATA:
	case FRAME_EOF:
	case FRAME_CREDIT:
	case FRAME_CANCEL:
		return take_known(frame);
	default:
		return -1;
	}
}

/* A pump may end its own stream and no other. */
void streams_pump(void)
{
	struct stream *next;

	for (size_t i = 0; i < BUCKETS && streams > 0; i++)
		for (struct stream *stream = table[i]; stream; stream = next) {
			next = stream->next;
			if (stream->kind->pump && !stream->cancelled)
				stream->kind->pump(stream);
		}
}

void streams_drop(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (table[i])
			forget(table[i]);
	parts_drop_all();
}
