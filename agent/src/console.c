/* The console, and the streams that show it. Without memory for it, lines are lost and nothing else. */
#include "console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"
#include "ring.h"

#define CHANNEL 1
#define SOURCE_MAX 128

static struct ring ring;

static void make_room(size_t size)
{
	size_t needed = ring_needs(&ring, size), wanted = ring.size ? ring.size : RING_MIN;

	while (wanted < needed && wanted < RING_MAX)
		wanted *= 2;
	if (wanted > ring.size)
		ring_resize(&ring, wanted);
}

void console_add(const char *source, const char *text, size_t size)
{
	char line[ISO_SIZE + SOURCE_MAX + CONSOLE_LINE + 4];
	char time[ISO_SIZE];
	int head;

	iso_time(wall_ms(), time);
	head = snprintf(line, sizeof(line), "%s %.*s ", time, SOURCE_MAX, source);
	if (size > CONSOLE_LINE)
		size = CONSOLE_LINE;
	memcpy(line + head, text, size);
	line[(size_t)head + size] = '\n';
	size += (size_t)head + 1;
	make_room(size);
	ring_put(&ring, CHANNEL, (const uint8_t *)line, size, false);
}

void console_feed(struct console_lines *lines, const char *source, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		const uint8_t *end = memchr(bytes, '\n', size);
		size_t now = end ? (size_t)(end - bytes) : size, room = CONSOLE_LINE - lines->size;
		bool ends = end && now <= room;

		if (now > room)
			now = room;
		memcpy(lines->text + lines->size, bytes, now);
		lines->size += now;
		bytes += now + ends;
		size -= now + ends;
		if (ends || lines->size == CONSOLE_LINE) {
			console_add(source, lines->text, lines->size);
			lines->size = 0;
		}
	}
}

void console_flush(struct console_lines *lines, const char *source)
{
	if (lines->size > 0)
		console_add(source, lines->text, lines->size);
	lines->size = 0;
}

/* ---- the stream */

struct showing {
	struct ring_place place;
	uint64_t until;
};

static int open_console(struct stream *stream, struct reader *arguments)
{
	uint32_t lines = read_u32(arguments);
	bool follow = read_u8(arguments) != 0;
	struct showing *showing;

	if (!reader_done(arguments))
		return EINVAL;
	showing = calloc(1, sizeof(*showing));
	if (!showing)
		return ENOMEM;
	showing->place = ring_last(&ring, lines);
	showing->until = follow ? UINT64_MAX : ring.end;
	stream->work = showing;
	return 0;
}

static void pump_console(struct stream *stream)
{
	struct showing *showing = stream->work;
	struct ring_piece piece;

	while ((piece = ring_peek(&ring, &showing->place, showing->until)).size > 0) {
		size_t sent = stream_send(stream, CHANNEL, piece.bytes, piece.size);

		ring_skip(&showing->place, sent);
		if (sent < piece.size)
			return;
	}
	if (showing->until != UINT64_MAX)
		stream_result(stream, NULL, 0);
}

static void console_gone(struct stream *stream)
{
	free(stream->work);
}

const struct stream_kind console_kind = {
	.open = open_console,
	.pump = pump_console,
	.gone = console_gone,
};
