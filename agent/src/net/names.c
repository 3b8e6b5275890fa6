#include "net/names.h"

#include <stdlib.h>
#include <string.h>

/* 198.18.0.4: those before it belong to the cable. */
#define FIRST 0xc6120004U
#define NAMES_MAX 8192
#define SLOTS (2 * NAMES_MAX)

static char *names[NAMES_MAX];
static uint32_t count;
/* Open addressing: number of the name + 1, or 0. */
static uint16_t slots[SLOTS];

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619U;
	return hash;
}

uint32_t names_give(const char *name)
{
	uint32_t slot = hash_of(name) % SLOTS;

	for (; slots[slot]; slot = (slot + 1) % SLOTS)
		if (strcmp(names[slots[slot] - 1], name) == 0)
			return FIRST + slots[slot] - 1;
	if (count == NAMES_MAX)
		return 0;
	names[count] = strdup(name);
	if (!names[count])
		return 0;
	slots[slot] = (uint16_t)++count;
	return FIRST + count - 1;
}

const char *names_find(uint32_t address)
{
	return address >= FIRST && address - FIRST < count ? names[address - FIRST] : NULL;
}
