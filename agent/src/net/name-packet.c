#include "net/name-packet.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/names.h"

#define HEAD 12
#define LABEL_MAX 63
#define TTL_S 60
#define LOOPBACK 0x7f000001U
#define REVERSE ".in-addr.arpa"

enum code { FINE = 0, MALFORMED = 1, NO_SUCH_NAME = 3, NOT_DONE = 4, REFUSED = 5 };
enum type { A = 1, PTR = 12 };
#define INTERNET 1

struct question {
	char name[NAME_SIZE]; /* in lower case, without the last dot */
	uint16_t type, class;
	size_t end; /* of the question in the packet */
};

struct answer {
	uint8_t *bytes;
	size_t size;
};

static uint16_t number_at(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void put(struct answer *answer, uint32_t value, size_t size)
{
	for (size_t i = size; i-- > 0;)
		answer->bytes[answer->size++] = (uint8_t)(value >> (8 * i));
}

/* Names of hosts, and what services put before them. Other bytes could mean something else to another reader. */
static bool is_name_byte(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

/* Returns 0 when the packet ends early, the name is too long, or it is compressed, which no question needs. A name with
 * other bytes becomes empty. */
static size_t read_name(const uint8_t *bytes, size_t size, char name[NAME_SIZE])
{
	size_t at = HEAD, used = 0;
	bool is_plain = true;

	while (at < size && bytes[at] != 0) {
		size_t length = bytes[at++];

		if (length > LABEL_MAX || at + length > size || used + length + 1 >= NAME_SIZE)
			return 0;
		if (used)
			name[used++] = '.';
		for (size_t i = 0; i < length; i++, at++) {
			uint8_t byte = bytes[at] >= 'A' && bytes[at] <= 'Z' ? (uint8_t)(bytes[at] + 32) : bytes[at];

			is_plain = is_plain && is_name_byte(byte);
			name[used++] = (char)byte;
		}
	}
	name[is_plain ? used : 0] = '\0';
	return at < size ? at + 1 : 0;
}

static bool read_question(const uint8_t *bytes, size_t size, struct question *question)
{
	size_t at = read_name(bytes, size, question->name);

	if (at == 0 || at + 4 > size)
		return false;
	question->type = number_at(bytes + at);
	question->class = number_at(bytes + at + 2);
	question->end = at + 4;
	return true;
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), wanted = strlen(end);

	return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

static bool is_local(const char *name)
{
	return strcmp(name, "localhost") == 0 || ends_with(name, ".localhost");
}

/* "4.0.18.198.in-addr.arpa" */
static const char *find_reverse(const char *name)
{
	unsigned a, b, c, d;
	int end = 0;

	if (!ends_with(name, REVERSE) || sscanf(name, "%3u.%3u.%3u.%3u%n", &d, &c, &b, &a, &end) != 4)
		return NULL;
	if (strcmp(name + end, REVERSE) != 0 || a > 255 || b > 255 || c > 255 || d > 255)
		return NULL;
	return names_find((uint32_t)a << 24 | b << 16 | c << 8 | d);
}

/* Begins an answer for the name of the question; its data follow. */
static void put_record(struct answer *answer, uint16_t type, size_t size)
{
	answer->bytes[7] = 1;
	put(answer, 0xc000 | HEAD, 2);
	put(answer, type, 2);
	put(answer, INTERNET, 2);
	put(answer, TTL_S, 4);
	put(answer, (uint32_t)size, 2);
}

static enum code put_address(struct answer *answer, const char *name)
{
	uint32_t address = is_local(name) ? LOOPBACK : names_give(name);

	if (address == 0)
		return REFUSED;
	put_record(answer, A, 4);
	put(answer, address, 4);
	return FINE;
}

static enum code put_reverse(struct answer *answer, const char *asked)
{
	const char *name = find_reverse(asked);

	if (!name)
		return NO_SUCH_NAME;
	put_record(answer, PTR, strlen(name) + 2);
	while (*name) {
		size_t length = strcspn(name, ".");

		put(answer, (uint32_t)length, 1);
		for (size_t i = 0; i < length; i++)
			put(answer, (uint8_t)name[i], 1);
		name += length + (name[length] == '.');
	}
	put(answer, 0, 1);
	return FINE;
}

static enum code put_answer(struct answer *answer, const struct question *question)
{
	if (question->class != INTERNET)
		return NOT_DONE;
	if (question->name[0] == '\0')
		return NO_SUCH_NAME;
	if (question->type == A)
		return put_address(answer, question->name);
	/* Other records would name addresses and servers that no connection gets from here. */
	return question->type == PTR ? put_reverse(answer, question->name) : FINE;
}

size_t name_answer(const uint8_t *bytes, size_t size, uint8_t room[NAME_PACKET_MAX])
{
	struct answer answer = { .bytes = room, .size = HEAD };
	struct question question;
	bool is_query = size >= HEAD && size <= NAME_PACKET_MAX && !(bytes[2] & 0x80);
	enum code code;

	if (!is_query)
		return 0;
	memset(room, 0, HEAD);
	memcpy(room, bytes, 2);
	/* An answer; with the wish for recursion as it was, and recursion available. */
	room[2] = (uint8_t)(0x80 | (bytes[2] & 0x79));
	if (bytes[2] & 0x78)
		code = NOT_DONE;
	else if (number_at(bytes + 4) != 1 || !read_question(bytes, size, &question))
		code = MALFORMED;
	else {
		room[5] = 1;
		memcpy(room + HEAD, bytes + HEAD, question.end - HEAD);
		answer.size = question.end;
		code = put_answer(&answer, &question);
	}
	room[3] = (uint8_t)(0x80 | code);
	return answer.size;
}
