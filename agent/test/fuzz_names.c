/* Sends hostile questions to the gate's name service. `fuzz-names [iterations] [seed]` is deterministic; with -DENGINE the
 * same input is libFuzzer's. Answers are read as strictly as a resolver does. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/name-packet.h"
#include "net/names.h"

#define LEAST 12
#define FIRST 0xc6120004U
#define LAST 0xc613fffeU
#define LOOPBACK 0x7f000001U

static unsigned long long addresses, reverses, empty, refused;

static unsigned number_at(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* Where the name at `at` ends; aborts unless all of it is there. */
static size_t skip_name(const uint8_t *bytes, size_t size, size_t at)
{
	for (;;) {
		if (at >= size)
			abort();
		if (bytes[at] == 0)
			return at + 1;
		if (bytes[at] >= 0xc0)
			return at + 2;
		if (bytes[at] > 63)
			abort();
		at += 1 + bytes[at];
	}
}

static void judge_record(const uint8_t *answer, size_t size, size_t at)
{
	unsigned type, length;
	uint32_t address;

	if (answer[at] != 0xc0 || answer[at + 1] != LEAST || at + 12 > size)
		abort();
	type = number_at(answer + at + 2);
	length = number_at(answer + at + 10);
	at += 12;
	if (at + length != size || (type != 1 && type != 12))
		abort();
	if (type == 12) {
		reverses++;
		if (skip_name(answer, size, at) != size)
			abort();
		return;
	}
	addresses++;
	address = (uint32_t)number_at(answer + at) << 16 | number_at(answer + at + 2);
	if (length != 4 || (address != LOOPBACK && (address < FIRST || address > LAST || !names_find(address))))
		abort();
}

static void judge(const uint8_t *question, const uint8_t *answer, size_t size)
{
	size_t end;

	if (size < LEAST || size > NAME_PACKET_MAX || memcmp(question, answer, 2) != 0 || !(answer[2] & 0x80))
		abort();
	if (number_at(answer + 8) || number_at(answer + 10) || number_at(answer + 4) > 1 || number_at(answer + 6) > 1)
		abort();
	refused += (answer[3] & 15) != 0;
	if (number_at(answer + 4) == 0) {
		if (size != LEAST || (answer[3] & 15) == 0)
			abort();
		return;
	}
	end = skip_name(answer, size, LEAST) + 4;
	if (memcmp(question + LEAST, answer + LEAST, end - LEAST) != 0)
		abort();
	if (number_at(answer + 6) == 1)
		judge_record(answer, size, end);
	else if (end != size)
		abort();
	else
		empty++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* Of exactly this size, so that a read beyond it is noticed. */
	uint8_t *question = malloc(size ? size : 1), *answer = malloc(NAME_PACKET_MAX);
	size_t said;

	memcpy(question, bytes, size);
	said = name_answer(question, size, answer);
	if (said)
		judge(question, answer, said);
	else if (size >= LEAST && size <= NAME_PACKET_MAX && !(question[2] & 0x80))
		abort();
	free(question);
	free(answer);
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

static size_t put_label(uint8_t *at)
{
	uint32_t length = chance(20) ? 1 + chance(12) : chance(80);

	at[0] = (uint8_t)length;
	for (uint32_t i = 0; i < length; i++)
		at[1 + i] = (uint8_t)(chance(200) ? (uint32_t)"abcXYZ019-_"[chance(11)] : chance(256));
	return 1 + length;
}

static size_t put_name(uint8_t *at)
{
	static const char reverse[] = "\7in-addr\4arpa";
	size_t size = 0;

	if (chance(4) == 0) {
		for (int i = 0; i < 4; i++)
			size += 1 + (at[size] = (uint8_t)sprintf((char *)at + size + 1, "%u",
				i < 2 ? chance(260) : i == 2 ? 18 + chance(2) : 198));
		memcpy(at + size, reverse, sizeof(reverse) - 1);
		size += sizeof(reverse) - 1;
	} else if (chance(10) == 0) {
		memcpy(at, "\11localhost", 10);
		size = 10;
	} else {
		for (uint32_t labels = chance(chance(10) ? 5 : 40); labels > 0; labels--)
			size += put_label(at + size);
	}
	at[size++] = (uint8_t)(chance(50) ? 0 : 0xc0);
	return size;
}

static size_t make_question(uint8_t *at)
{
	static const uint8_t types[] = { 1, 1, 1, 12, 28, 64, 65, 15, 16, 33, 255 };
	size_t size = LEAST;

	for (int i = 0; i < LEAST; i++)
		at[i] = 0;
	at[0] = (uint8_t)chance(256);
	at[2] = (uint8_t)(chance(30) ? 1 : chance(256));
	at[5] = (uint8_t)(chance(50) ? 1 : chance(3));
	size += put_name(at + size);
	at[size++] = 0;
	at[size++] = types[chance(sizeof(types))];
	at[size++] = 0;
	at[size++] = (uint8_t)(chance(30) ? 1 : chance(256));
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[8192];
	long iterations = argc > 1 ? atol(argv[1]) : 2000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	if (iterations < 1)
		return 2;
	for (long i = 0; i < iterations; i++) {
		size_t size;

		state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL + 1;
		size = make_question(bytes);
		for (uint32_t changes = chance(8) ? 0 : chance(4); changes > 0; changes--)
			bytes[chance((uint32_t)size)] = (uint8_t)chance(256);
		LLVMFuzzerTestOneInput(bytes, chance(8) ? size : chance((uint32_t)size + 1));
	}
	printf("fuzz-names: %ld questions from seed %llu: %llu addresses, %llu names, %llu empty, %llu refused\n", iterations,
	       (unsigned long long)seed, addresses, reverses, empty, refused);
	return 0;
}
#endif
