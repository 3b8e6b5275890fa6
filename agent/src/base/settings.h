/* Settings of launch and init: records "key=value", each ended by a NUL byte, in one bounded buffer.
 * They carry the secret, so they travel by pipe and socket and never by argument or environment. */
#ifndef SVC_SETTINGS_H
#define SVC_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "agent.h"

#define SETTINGS_MAX 65536

struct settings {
	char bytes[SETTINGS_MAX];
	size_t size;
};

/* "first=second" of a repeated key, such as bind=/usr=/usr; both point into the settings. */
struct settings_pair {
	char first[256];
	const char *second;
};

/* EINVAL if it is empty or its last record is not terminated. */
int settings_check(const struct settings *s);
/* Returns the value of the first record with that key, or NULL. */
const char *settings_get(const struct settings *s, const char *key);
/* Returns each value of a repeated key in order: start with *cursor 0; NULL at the end. */
const char *settings_each(const struct settings *s, const char *key, size_t *cursor);
/* Returns the next pair of a repeated key: 1, 0 at the end, -1 with errno when a value is not a pair. */
int settings_pair(const struct settings *s, const char *key, size_t *cursor, struct settings_pair *pair);
/* Returns the decimal value, or `fallback` if it is absent or not a number. */
uint64_t settings_number(const struct settings *s, const char *key, uint64_t fallback);
/* Takes 32 hexadecimal digits without a zero byte and erases them from the settings; -1 with errno EINVAL. */
int settings_secret(struct settings *s, uint8_t secret[SECRET_SIZE]);

#endif
