/* Tests the parts below the session: values, frames, resynchronisation, the ring and the queue. Built by core.mk. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/loop.h"
#include "base/pipe-room.h"
#include "base/ring.h"
#include "base/secret.h"
#include "wire/frame.h"
#include "wire/queue.h"
#include "wire/resync.h"
#include "wire/wire.h"

#define CHECK(fact) check(!!(fact), #fact, __LINE__)

static int failures;

static void check(int holds, const char *fact, int line)
{
	if (holds)
		return;
	failures++;
	fprintf(stderr, "core_test.c:%d: not so: %s\n", line, fact);
}

static void wire_test(void)
{
	uint8_t bytes[64], small[4];
	struct writer writer = writer_to(bytes, sizeof(bytes) - 1);
	struct reader reader;
	const char *first, *second;
	size_t size;

	write_number(&writer, 0x0102, 2);
	write_str(&writer, "eins", 4);
	write_str(&writer, "", 0);
	write_number(&writer, UINT64_MAX - 1, 8);
	size = (size_t)(writer.at - bytes);
	reader = reader_of(bytes, size);
	CHECK(read_u16(&reader) == 0x0102);
	first = read_text(&reader);
	second = read_text(&reader);
	CHECK(read_u64(&reader) == UINT64_MAX - 1);
	CHECK(reader_done(&reader) && strcmp(first, "eins") == 0 && strcmp(second, "") == 0);
	reader = reader_of(bytes, size - 1);
	read_u16(&reader);
	CHECK(!reader_done(&reader));
	reader = reader_of((uint8_t[]){ 0xff, 0xff, 0xff, 0xff, 'a', 0 }, 5);
	CHECK(*read_text(&reader) == '\0' && !reader_done(&reader));
	reader = reader_of((uint8_t[]){ 2, 0, 0, 0, 'a', 0, 0 }, 6);
	read_text(&reader);
	CHECK(!reader_done(&reader));
	writer = writer_to(small, sizeof(small));
	write_str(&writer, "x", 1);
	CHECK(writer.full && writer.at == small);
}

static void frame_test(void)
{
	uint8_t bytes[FRAME_HEAD + 3 + FRAME_TAIL];
	struct frame frame;

	frame_head(bytes, FRAME_DATA, 7, 3);
	memcpy(bytes + FRAME_HEAD, "abc", 3);
	store_u32(bytes + FRAME_HEAD + 3, 0x11223344);
	for (size_t size = 0; size < sizeof(bytes); size++)
		CHECK(frame_parse(bytes, size, &frame) == 0);
	CHECK(frame_parse(bytes, sizeof(bytes), &frame) == (ssize_t)sizeof(bytes));
	CHECK(frame.type == FRAME_DATA && frame.stream == 7 && frame.size == 3 && frame.tag == 0x11223344);
	store_u32(bytes, FRAME_MIN - 1);
	CHECK(frame_parse(bytes, 4, &frame) == -1);
	store_u32(bytes, FRAME_MAX + 1);
	CHECK(frame_parse(bytes, 4, &frame) == -1);
	store_u32(bytes, FRAME_MAX);
	CHECK(frame_parse(bytes, sizeof(bytes), &frame) == 0);
	CHECK(frame_tag_fits(0x01020304) && !frame_tag_fits(0x01020004) && !frame_tag_fits(0x00020304));
}

static int finds(const uint8_t *bytes, size_t size, size_t piece)
{
	struct resync resync = { 0 };
	bool found = false;

	for (size_t at = 0; at < size && !found; at += piece)
		resync_take(&resync, bytes + at, size - at < piece ? size - at : piece, &found);
	return found;
}

static void resync_test(void)
{
	static const uint8_t secret[SECRET_SIZE] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	static const uint8_t nothing[SECRET_SIZE];
	uint8_t bytes[RESYNC_ZEROS + SECRET_SIZE] = { 0 };
	uint8_t given[SECRET_SIZE];

	memcpy(given, secret, SECRET_SIZE);
	CHECK(secret_keep(given) == 0);
	CHECK(memcmp(given, nothing, SECRET_SIZE) == 0);
	memcpy(bytes + RESYNC_ZEROS, secret, SECRET_SIZE);
	for (size_t piece = 1; piece <= sizeof(bytes); piece++)
		CHECK(finds(bytes, sizeof(bytes), piece));
	/* One zero too few, one byte wrong, a zero inside. */
	CHECK(!finds(bytes + 1, sizeof(bytes) - 1, 7));
	for (size_t i = 0; i < SECRET_SIZE; i++) {
		bytes[RESYNC_ZEROS + i] ^= 0x80;
		CHECK(!finds(bytes, sizeof(bytes), 5));
		bytes[RESYNC_ZEROS + i] = 0;
		CHECK(!finds(bytes, sizeof(bytes), 5));
		bytes[RESYNC_ZEROS + i] = secret[i];
	}
	CHECK(!secret_replace((uint8_t[SECRET_SIZE]){ 1, 2 }) && finds(bytes, sizeof(bytes), 3));
}

/* Returns all records of a ring as text, each after its channel. */
static void show(const struct ring *ring, struct ring_place place, char *text)
{
	struct ring_piece piece;

	while ((piece = ring_peek(ring, &place, UINT64_MAX)).size > 0) {
		text += sprintf(text, "%d:%.*s ", piece.channel, (int)piece.size, (const char *)piece.bytes);
		ring_skip(&place, piece.size);
	}
	*text = '\0';
}

static void ring_test(void)
{
	struct ring ring = { 0 };
	struct ring_place place = { 0 };
	char text[256];

	ring_put(&ring, 1, (const uint8_t *)"lost", 4, true);
	CHECK(ring.truncated);
	ring.truncated = false;
	CHECK(ring_resize(&ring, RING_MIN));
	ring_put(&ring, 1, (const uint8_t *)"ab", 2, true);
	ring_put(&ring, 1, (const uint8_t *)"cd", 2, true);
	ring_put(&ring, 2, (const uint8_t *)"ef", 2, true);
	ring_put(&ring, 2, (const uint8_t *)"gh", 2, false);
	show(&ring, place, text);
	CHECK(strcmp(text, "1:abcd 2:ef 2:gh ") == 0);
	show(&ring, ring_last(&ring, 1), text);
	CHECK(strcmp(text, "2:gh ") == 0);
	CHECK(ring_resize(&ring, 2 * RING_MIN) && !ring.truncated);
	show(&ring, place, text);
	CHECK(strcmp(text, "1:abcd 2:ef 2:gh ") == 0);
	CHECK(ring_resize(&ring, 0) && ring.truncated);
	CHECK(ring_peek(&ring, &place, UINT64_MAX).size == 0);
}

/* Compares a ring with a plain copy of all bytes: its content is always the end of that copy, in order, for slow
 * readers too. */
static void ring_random_test(void)
{
	static uint8_t all[1 << 20];
	struct ring ring = { 0 };
	struct ring_place place = { 0 };
	size_t written = 0, read = 0;

	srandom(3);
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)random();
	CHECK(ring_resize(&ring, RING_MIN));
	while (written + 5000 < sizeof(all)) {
		size_t size = (size_t)random() % 5000;
		struct ring_piece piece;

		ring_put(&ring, (uint8_t)(random() % 2), all + written, size, random() % 4 > 0);
		written += size;
		if (random() % 50 == 0)
			CHECK(ring_resize(&ring, RING_MIN << random() % 4));
		for (int i = (int)(random() % 9); i > 0 && (piece = ring_peek(&ring, &place, UINT64_MAX)).size > 0; i--) {
			uint8_t *at = memmem(all + read, written - read, piece.bytes, piece.size);

			CHECK(at);
			if (!at)
				return;
			read = (size_t)(at - all) + piece.size;
			ring_skip(&place, piece.size);
		}
	}
	CHECK(ring.truncated && read > 0);
	ring_resize(&ring, 0);
}

static void queue_test(void)
{
	struct queue queue = { 0 };
	uint64_t in = 0, out = 0;
	uint8_t bytes[70000];
	int ends[2];
	ssize_t got;

	CHECK(pipe(ends) == 0 && set_nonblocking(ends[0]) == 0 && set_nonblocking(ends[1]) == 0);
	for (int turn = 0; turn < 3000; turn++) {
		size_t size = (size_t)random() % (turn % 7 ? 300 : FRAME_MAX);
		uint8_t *at = queue.chunks < QUEUE_FULL ? queue_reserve(&queue, size) : NULL;

		for (size_t i = 0; at && i < size; i++)
			at[i] = (uint8_t)(in++ % 251);
		if (at)
			queue_commit(&queue, size);
		CHECK(queue_write(&queue, ends[1]) >= 0);
		while ((got = read(ends[0], bytes, (size_t)random() % sizeof(bytes) + 1)) > 0)
			for (ssize_t i = 0; i < got; i++)
				if (bytes[i] != (uint8_t)(out++ % 251))
					failures++;
	}
	CHECK(in > 1000000 && queue_is_empty(&queue) == (in == out));
	while (queue_reserve(&queue, CHUNK_SIZE))
		queue_commit(&queue, CHUNK_SIZE);
	CHECK(queue.chunks == QUEUE_BROKEN);
	close(ends[0]);
	CHECK(queue_write(&queue, ends[1]) == -1 && errno == EPIPE);
	queue_clear(&queue);
	CHECK(queue_is_empty(&queue) && queue.chunks == 0);
	close(ends[1]);
}

static void pipe_room_test(void)
{
	struct pipe_room room = { 0 };
	int ends[2], file = open("/dev/null", O_WRONLY);
	int normal;

	CHECK(pipe(ends) == 0);
	normal = fcntl(ends[1], F_GETPIPE_SZ);
	pipe_room_carried(&room, file, 1 << 20);
	CHECK(!room.is_wide);
	pipe_room_carried(&room, ends[1], (1 << 20) - 1);
	CHECK(fcntl(ends[1], F_GETPIPE_SZ) == normal && !room.is_wide);
	pipe_room_carried(&room, ends[1], 1);
	CHECK(fcntl(ends[1], F_GETPIPE_SZ) == 1 << 20 && room.is_wide);
	/* The next check finds it busy; only the one after that does not. */
	pipe_room_carried(&room, ends[1], 1 << 20);
	loop_turn();
	CHECK(room.is_wide);
	loop_turn();
	CHECK(fcntl(ends[1], F_GETPIPE_SZ) == normal && !room.is_wide);
	pipe_room_carried(&room, ends[1], 1 << 20);
	pipe_room_leave(&room);
	CHECK(!room.is_wide && !room.look.link);
	close(ends[0]);
	close(ends[1]);
	close(file);
}

static void moment_test(void)
{
	char text[ISO_SIZE];

	iso_time(0, text);
	CHECK(strcmp(text, "1970-01-01T00:00:00.000Z") == 0);
	iso_time(951827696789ULL, text);
	CHECK(strcmp(text, "2000-02-29T12:34:56.789Z") == 0);
	iso_time(4107542399999ULL, text);
	CHECK(strcmp(text, "2100-02-28T23:59:59.999Z") == 0);
	iso_time(UINT64_MAX, text);
	CHECK(strcmp(text, "9999-12-31T23:59:59.999Z") == 0);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	wire_test();
	frame_test();
	resync_test();
	ring_test();
	ring_random_test();
	queue_test();
	pipe_room_test();
	moment_test();
	if (failures)
		return 1;
	puts("core: ok");
	return 0;
}
