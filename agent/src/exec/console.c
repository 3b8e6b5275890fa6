/* The console, and the streams that read it. Without memory, lines are lost and nothing else. */
#include "exec/console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ring.h"

#define CHANNEL 1
#define SOURCE_MAX 128

#define USER_RING_MAX (64 * 1024)

struct console {
	struct console *next;
	uid_t uid;
	struct ring ring;
	size_t views;
	bool forgotten;
};

static struct console whole;

static struct console *find(uid_t uid)
{
	struct console *console = &whole;

	while (console && (console->uid != uid || console->forgotten))
		console = console->next;
	return console;
}

static struct console *find_or_make(uid_t uid)
{
	struct console *console = find(uid);

	if (console)
		return console;
	console = calloc(1, sizeof(*console));
	if (!console)
		return NULL;
	console->uid = uid;
	console->next = whole.next;
	whole.next = console;
	return console;
}

static void let_go(struct console *console)
{
	struct console **at = &whole.next;

	if (!console->forgotten || console->views > 0)
		return;
	while (*at != console)
		at = &(*at)->next;
	*at = console->next;
	ring_resize(&console->ring, 0);
	free(console);
}

void console_forget(uid_t uid)
{
	struct console *console = uid ? find(uid) : NULL;

	if (!console)
		return;
	console->forgotten = true;
	let_go(console);
}

static void make_room(struct console *console, size_t size)
{
	struct ring *ring = &console->ring;
	size_t needed = ring_needs(ring, size), wanted = ring->size ? ring->size : RING_MIN;
	size_t most = console->uid ? USER_RING_MAX : RING_MAX;

	while (wanted < needed && wanted < most)
		wanted *= 2;
	if (wanted > ring->size)
		ring_resize(ring, wanted);
}

static void add(struct console *console, const char *source, const char *text, size_t size)
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
	make_room(console, size);
	ring_put(&console->ring, CHANNEL, (const uint8_t *)line, size, false);
}

void console_add(const char *source, const char *text, size_t size)
{
	add(&whole, source, text, size);
}

static void add_line(struct console_lines *lines, const char *source)
{
	struct console *console = find_or_make(lines->uid);

	if (console)
		add(console, source, lines->text, lines->size);
	lines->size = 0;
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
		if (ends || lines->size == CONSOLE_LINE)
			add_line(lines, source);
	}
}

void console_flush(struct console_lines *lines, const char *source)
{
	if (lines->size > 0)
		add_line(lines, source);
}

/* ---- the stream */

struct showing {
	struct console *console;
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
	stream->work = showing = calloc(1, sizeof(*showing));
	if (!showing)
		return ENOMEM;
	showing->console = find_or_make(stream->uid);
	if (!showing->console)
		return ENOMEM;
	showing->console->views++;
	showing->place = ring_last(&showing->console->ring, lines);
	showing->until = follow ? UINT64_MAX : showing->console->ring.end;
	return 0;
}

static void pump_console(struct stream *stream)
{
	struct showing *showing = stream->work;
	struct ring_piece piece;

	while ((piece = ring_peek(&showing->console->ring, &showing->place, showing->until)).size > 0) {
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
	struct showing *showing = stream->work;

	if (showing && showing->console) {
		showing->console->views--;
		let_go(showing->console);
	}
	free(showing);
}

const struct stream_kind console_kind = {
	.open = open_console,
	.pump = pump_console,
	.gone = console_gone,
};
