/* Sends the frames of streams, within the credit that the host grants. */
#include "wire/stream.h"

#include <string.h>

#include "wire/session.h"

/* Each credit frame wakes a chain of processes, up to five through an engine. */
#define CREDIT_STEP (FIRST_CREDIT / 2)
#define LEAST_RESERVE 2048

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
	if (stream->owed < (stream->is_wide ? 2 * CREDIT_STEP : CREDIT_STEP))
		return;
	stream_widen(stream);
	store_u32(payload, stream->owed);
	stream->host_credit += stream->owed;
	stream->owed = 0;
	session_send(FRAME_CREDIT, stream->id, payload, sizeof(payload));
}

void stream_result(struct stream *stream, const uint8_t *bytes, size_t size)
{
	session_send(FRAME_RESULT, stream->id, bytes, size);
	stream_end(stream);
}

void stream_refuse(uint32_t id, int error)
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
	stream_refuse(stream->id, error);
	stream_end(stream);
}
