/* Parses the records only; each value is checked where it is used. */
#define _GNU_SOURCE
#include "base/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int settings_check(const struct settings *s)
{
	if (s->size > 0 && s->size <= SETTINGS_MAX && s->bytes[s->size - 1] == '\0')
		return 0;
	errno = EINVAL;
	return -1;
}

const char *settings_each(const struct settings *s, const char *key, size_t *cursor)
{
	size_t length = strlen(key);

	while (*cursor < s->size) {
		const char *record = s->bytes + *cursor;

		*cursor += strlen(record) + 1;
		if (strncmp(record, key, length) == 0 && record[length] == '=')
			return record + length + 1;
	}
	return NULL;
}

const char *settings_get(const struct settings *s, const char *key)
{
	size_t cursor = 0;

	return settings_each(s, key, &cursor);
}

int settings_pair(const struct settings *s, const char *key, size_t *cursor, struct settings_pair *pair)
{
	const char *value = settings_each(s, key, cursor);
	const char *equals = value ? strchr(value, '=') : NULL;

	if (!value)
		return 0;
	if (!equals || (size_t)(equals - value) >= sizeof(pair->first)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(pair->first, value, (size_t)(equals - value));
	pair->first[equals - value] = '\0';
	pair->second = equals + 1;
	return 1;
}

uint64_t settings_number(const struct settings *s, const char *key, uint64_t fallback)
{
	const char *text = settings_get(s, key);
	char *end;
	unsigned long long number;

	if (!text || *text < '0' || *text > '9')
		return fallback;
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end ? fallback : (uint64_t)number;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static int read_secret(const char *text, uint8_t secret[SECRET_SIZE])
{
	for (size_t i = 0; i < SECRET_SIZE; i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0 || (high == 0 && low == 0))
			return -1;
		secret[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

int settings_secret(struct settings *s, uint8_t secret[SECRET_SIZE])
{
	const char *text = settings_get(s, "secret");
	int status = -1;

	if (text && strlen(text) == 2 * SECRET_SIZE) {
		status = read_secret(text, secret);
		explicit_bzero(s->bytes + (text - s->bytes), 2 * SECRET_SIZE);
	}
	if (status)
		errno = EINVAL;
	return status;
}
