/* Sends hostile bytes through the entire input path, from the transport to the kinds of streams, which are harmless
 * ones here. `fuzz [iterations] [seed] [small]` needs no engine and is deterministic; with -DENGINE the same input is
 * libFuzzer's. Small inputs are a few short frames into the previous input's session, some thousands a second. The
 * output is checked as strictly as a host does. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/secret.h"
#include "exec/console.h"
#include "exec/deadline.h"
#include "exec/exec.h"
#include "exec/users.h"
#include "wire/link.h"
#include "wire/resync.h"
#include "wire/session.h"
#include "wire/stream.h"

#define TAG 0x5a5a5a5aU
#define INPUT_MAX (1 << 20)
#define DEADLINE 18

static const uint8_t secret[SECRET_SIZE] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static int host;
/* Whether a frame may be incomplete, so that only zeros as long as the longest frame surely end it. */
static bool is_torn = true;

/* Deadlines of tenants end nobody here. */
void users_end(uid_t uid)
{
	deadline_user_ended(uid, uid % 2 == 0);
}

/* The deadline of a sandbox would kill this process on a machine that is busy for a moment. */
int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	(void)clock;
	(void)event;
	(void)timer;
	errno = EAGAIN;
	return -1;
}

/* ---- kinds: one that echoes, one that never ends by itself, one that reads every value, one that parses an exec
 * without starting it */

static void echo_data(struct stream *stream, const uint8_t *bytes, size_t size)
{
	stream_took(stream, size);
	stream_send(stream, 1, bytes, size);
}

static void echo_eof(struct stream *stream)
{
	stream_eof(stream, 0);
	stream_result(stream, NULL, 0);
}

static int begin(struct stream *stream, struct reader *arguments)
{
	(void)arguments;
	stream_started(stream, 1);
	return 0;
}

static void pump(struct stream *stream)
{
	static uint8_t zeros[5000];

	stream_send(stream, 2, zeros, sizeof(zeros));
}

static int read_values(struct stream *stream, struct reader *arguments)
{
	char *first = read_text(arguments), *second = read_text(arguments);

	read_u8(arguments);
	read_u16(arguments);
	if (!reader_done(arguments))
		return EINVAL;
	stream_result(stream, (const uint8_t *)first, strlen(first) + strlen(second) > 60000 ? 0 : strlen(first));
	return 0;
}

static bool is_kept_promise(const struct exec_plan *plan)
{
	bool is_own = plan->flags & (EXEC_DETACH | EXEC_KEYED), has_key = plan->flags & EXEC_KEYED;

	if (!plan->argv[0] || !plan->id[0] || strlen(plan->id) > EXEC_ID_MAX || (is_own && plan->flags & EXEC_STDIN))
		return false;
	return has_key ? plan->body && plan->body[0] && strlen(plan->body) <= EXEC_BODY_MAX : !plan->body;
}

static int read_plan(struct stream *stream, struct reader *arguments)
{
	static char *const defaults[] = { "PATH=/bin", "HOME=/", NULL };
	struct exec_plan plan;
	int error = exec_plan_read(&plan, arguments, defaults);

	if (!error && !is_kept_promise(&plan))
		abort();
	free(plan.room);
	if (!error)
		stream_result(stream, NULL, 0);
	return error;
}

static const struct stream_kind echo = { .open = begin, .cancel = echo_eof, .data = echo_data, .eof = echo_eof };
static const struct stream_kind flood = { .open = begin, .pump = pump };
static const struct stream_kind values = { .open = read_values };
static const struct stream_kind exec = { .open = read_plan, .takes_account = true };

const struct stream_kind *kind_of_open(uint8_t number)
{
	static const struct stream_kind *const kinds[] = { &echo, &flood, &values, &console_kind, &exec, NULL };

	return kinds[number % 6];
}

const struct stream_kind *kind_of_call(uint8_t number)
{
	if (number == DEADLINE)
		return &deadline_kind;
	return number % 4 ? &values : NULL;
}

/* ---- running */

static void prepare(void)
{
	int ends[2];
	struct serve_options options = { .listen_fd = -1 };
	uint8_t given[SECRET_SIZE];

	signal(SIGPIPE, SIG_IGN);
	if (host > 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return;
	host = ends[0];
	options.in_fd = ends[1];
	options.out_fd = dup(ends[1]);
	set_nonblocking(host);
	memcpy(given, secret, SECRET_SIZE);
	secret_keep(given);
	log_set_sink(console_add);
	session_init();
	if (deadline_init(0))
		abort();
	if (link_open(&options))
		abort();
}

static void judge(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + 4 <= size;) {
		size_t length = load_u32(bytes + at);

		if (length < FRAME_MIN || length > FRAME_MAX)
			abort();
		if (at + 4 + length > size)
			return;
		if (load_u32(bytes + at + length) != TAG || bytes[at + 4] < 4 || bytes[at + 4] > FRAME_STARTED)
			abort();
		at += 4 + length;
	}
}

static size_t hear(uint8_t *received, size_t size)
{
	ssize_t got = read(host, received + size, INPUT_MAX - size);

	return got > 0 ? size + (size_t)got : size;
}

static void turn(void)
{
	streams_pump();
	link_sweep();
	loop_again();
	loop_turn();
	link_sweep();
}

static void say_opening(uint8_t *received)
{
	static uint8_t opening[RESYNC_ZEROS + FRAME_MAX + SECRET_SIZE + 34];
	uint8_t *hello = opening + sizeof(opening) - 34;
	size_t said = is_torn ? 0 : FRAME_MAX;

	memcpy(hello - SECRET_SIZE, secret, SECRET_SIZE);
	frame_head(hello, FRAME_HELLO, 0, 21);
	hello[FRAME_HEAD] = 1;
	store_u32(hello + 30, TAG);
	while (said < sizeof(opening)) {
		ssize_t put = write(host, opening + said, sizeof(opening) - said);

		said += put > 0 ? (size_t)put : 0;
		turn();
		hear(received, 0);
	}
	turn();
	hear(received, 0);
	if (!session_conn())
		abort();
}

/* Opens a session unless one is open, sends `bytes`, and reads until the agent has nothing more to do. The session
 * stays open for the next input. */
static void send_all(const uint8_t *bytes, size_t size)
{
	static uint8_t received[INPUT_MAX];
	size_t said = 0, total = 0;

	if (is_torn || !session_conn())
		say_opening(received);
	while (said < size) {
		ssize_t put = write(host, bytes + said, size - said);

		said += put > 0 ? (size_t)put : 0;
		turn();
		total = hear(received, total);
	}
	for (int i = 0; i < 3; i++) {
		turn();
		total = hear(received, total);
	}
	judge(received, total);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	prepare();
	send_all(bytes, size < INPUT_MAX ? size : INPUT_MAX);
	return 0;
}

#ifndef ENGINE
static uint64_t state;

static uint32_t chance(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

static size_t put_number(uint8_t *at, size_t size, uint64_t value)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> (8 * i));
	return size;
}

static size_t put_text(uint8_t *at, uint32_t most)
{
	uint32_t size = chance(most + 1);

	put_number(at, 4, chance(60) ? size : chance(UINT32_MAX));
	for (uint32_t i = 0; i < size; i++)
		at[4 + i] = (uint8_t)(chance(500) ? 'a' + chance(26) : 0);
	return 4 + size;
}

static size_t put_texts(uint8_t *at, uint32_t most)
{
	uint32_t count = chance(most + 1);
	size_t size = put_number(at, 4, chance(60) ? count : chance(100));

	while (count-- > 0)
		size += put_text(at + size, 12);
	return size;
}

/* The arguments of an exec, mostly valid: at most about 1,700 bytes. */
static size_t make_plan(uint8_t *at)
{
	uint32_t flags = chance(20) ? chance(16) : chance(UINT32_MAX);
	bool has_account = chance(4) == 0;
	size_t size = put_number(at, 1, 4 | (has_account ? 0x40 : 0));

	if (has_account)
		size += put_text(at + size, chance(9) ? 20 : 80);
	size += put_number(at + size, 4, flags);
	size += put_text(at + size, chance(9) ? 12 : 140);
	size += put_text(at + size, 30);
	size += put_number(at + size, 8, chance(1000));
	size += put_text(at + size, chance(9) ? 40 : 1100);
	size += put_texts(at + size, 4);
	size += put_texts(at + size, 4);
	if (chance(20) ? flags & EXEC_KEYED : chance(2))
		size += put_text(at + size, chance(9) ? 64 : 70);
	return size;
}

/* The arguments of a deadline, of the sandbox or of a tenant: at most 13 bytes. */
static size_t make_deadline(uint8_t *at)
{
	bool is_for_user = chance(2);
	size_t size = put_number(at, 1, DEADLINE | (is_for_user ? 0x80 : 0));

	if (is_for_user)
		size += put_number(at + size, 4, chance(40) ? chance(100) : UINT32_MAX);
	return size + put_number(at + size, 8, chance(4) ? chance(5) : chance(2) ? UINT64_MAX : UINT64_MAX >> chance(64));
}

/* A frame that is mostly valid; after an invalid one the agent resynchronises. */
static size_t make_frame(uint8_t *at, bool small)
{
	static const uint8_t types[] = { 2, 3, 3, 3, 4, 4, 4, 4, 5, 6, 7, 8, 8, 1, 17, 99 };
	size_t size = chance(small ? 2000 : 8) ? chance(60) : chance(DATA_MAX + 10) % (FRAME_MAX - FRAME_MIN);
	uint8_t type = types[chance(chance(50) ? 13 : 16)];
	uint32_t tag = chance(300) ? TAG : chance(UINT32_MAX);

	if (type == FRAME_CREDIT && chance(100))
		size = 4;
	if (type == FRAME_CANCEL && chance(100))
		size = 0;
	if (type == FRAME_EOF && chance(100))
		size = 1;
	if (size == 0 && type != FRAME_CANCEL && chance(100))
		size = 1;
	frame_head(at, type, (type == FRAME_OPEN || type == FRAME_CALL ? 1 : chance(2)) + chance(40), size);
	for (size_t i = 0; i < size; i++)
		at[FRAME_HEAD + i] = (uint8_t)(chance(3) ? 0 : chance(256));
	if (type == FRAME_OPEN && chance(3) == 0) {
		size = make_plan(at + FRAME_HEAD);
		frame_head(at, type, 1 + chance(40), size);
	}
	if (type == FRAME_CALL && chance(3) == 0) {
		size = make_deadline(at + FRAME_HEAD);
		frame_head(at, type, 1 + chance(40), size);
	}
	if (size > 0 && chance(100) && (type == FRAME_DATA || type == FRAME_EOF))
		at[FRAME_HEAD] = 0;
	/* Credit below the limit. */
	if (size == 4 && type == FRAME_CREDIT && chance(100))
		at[FRAME_HEAD + 3] = 0;
	store_u32(at + FRAME_HEAD + size, tag);
	if (chance(200) == 0)
		at[chance((uint32_t)(FRAME_HEAD + size))] ^= (uint8_t)(1 << chance(8));
	return FRAME_HEAD + size + FRAME_TAIL;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[INPUT_MAX];
	long iterations = argc > 1 ? atol(argv[1]) : 2000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	bool small = argc > 3 && strcmp(argv[3], "small") == 0;

	if (iterations < 1)
		return 2;
	for (long i = 0; i < iterations; i++) {
		size_t size = 0, said;

		state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL + 1;
		for (uint32_t frames = 1 + chance(small ? 6 : 60); frames > 0 && size + FRAME_MAX + 4 < INPUT_MAX; frames--)
			size += make_frame(bytes + size, small);
		/* Truncated anywhere, as by a host that died. */
		said = chance(small ? 60 : 4) ? size : chance((uint32_t)size);
		LLVMFuzzerTestOneInput(bytes, said);
		/* A frame with a damaged length swallows what follows; at most a few inputs. */
		is_torn = !small || said < size || i % 32 == 31;
	}
	printf("fuzz: %ld inputs from seed %llu\n", iterations, (unsigned long long)seed);
	return 0;
}
#endif
