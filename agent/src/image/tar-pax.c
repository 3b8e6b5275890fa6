/* Records of a pax header: `length key=value\n`, the length counting itself. */
#define _GNU_SOURCE
#include <string.h>

#include "image/fault.h"
#include "image/tar.h"

#define DIGITS_MAX 16
#define NANOSECONDS 1000000000LL
#define SECONDS_MAX 9000000000LL
#define XATTR "SCHILY.xattr."

struct record {
	const char *key;
	char *value; /* ends with NUL */
	size_t size;
};

static int damaged(void)
{
	return refuse("an entry has a damaged pax header");
}

/* Whether the text is digits alone, of which not too many. */
static bool digits(const char *text, size_t size, uint64_t *value)
{
	*value = 0;
	if (size == 0 || size > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(text[i] - '0');
	}
	return true;
}

static int take_id(const struct record *record, uint32_t *id)
{
	uint64_t value;

	if (!digits(record->value, record->size, &value) || value >= UINT32_MAX)
		return refuse("an entry has an impossible owner, size or device");
	*id = (uint32_t)value;
	return 0;
}

/* Seconds with a fraction, before 1970 too. */
static int take_time(const struct record *record, int64_t *time)
{
	const char *text = record->value, *end = text + record->size;
	bool is_negative = record->size > 0 && *text == '-';
	const char *whole = text + is_negative, *point = memchr(text, '.', record->size);
	int64_t fraction = 0, unit = NANOSECONDS;
	uint64_t seconds;

	if (!digits(whole, (size_t)((point ? point : end) - whole), &seconds))
		return damaged();
	for (const char *at = point ? point + 1 : end; at < end; at++) {
		if (*at < '0' || *at > '9')
			return damaged();
		unit /= 10;
		fraction += (*at - '0') * unit;
	}
	seconds = seconds > (uint64_t)SECONDS_MAX ? (uint64_t)SECONDS_MAX : seconds;
	*time = (int64_t)seconds * NANOSECONDS + fraction;
	*time = is_negative ? -*time : *time;
	return 0;
}

/* overlayfs believes user.overlay.*; nobody else's attributes are kept but capabilities. */
static bool is_kept(const char *name)
{
	if (strcmp(name, "security.capability") == 0)
		return true;
	return strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0;
}

static int take_attribute(const struct record *record, struct tar_entry *entry)
{
	const char *name = record->key + strlen(XATTR);
	size_t at = 0;

	if (!is_kept(name))
		return 0;
	while (at < entry->attribute_count && strcmp(entry->attributes[at].name, name) != 0)
		at++;
	if (at == TAR_ATTRIBUTES_MAX || strlen(name) > 255)
		return refuse("an entry has too many attributes");
	entry->attributes[at] = (struct tar_attribute){ name, record->value, strlen(name), record->size };
	entry->attribute_count += at == entry->attribute_count;
	return 0;
}

static int take_text(const struct record *record, const char **text)
{
	if (strlen(record->value) != record->size)
		return damaged();
	*text = record->value;
	return 0;
}

static int take(const struct record *record, struct tar_entry *entry, uint64_t *size)
{
	const char *key = record->key;

	if (strncmp(key, "GNU.sparse.", 11) == 0 || strcmp(key, "SCHILY.realsize") == 0 ||
	    strcmp(key, "SCHILY.filetype") == 0)
		return refuse("the archive contains sparse files in an unsupported format");
	if (strncmp(key, XATTR, strlen(XATTR)) == 0)
		return take_attribute(record, entry);
	/* Without a value the header's own holds. */
	if (record->size == 0)
		return 0;
	if (strcmp(key, "path") == 0)
		return take_text(record, &entry->path);
	if (strcmp(key, "linkpath") == 0)
		return take_text(record, &entry->target);
	if (strcmp(key, "uid") == 0)
		return take_id(record, &entry->uid);
	if (strcmp(key, "gid") == 0)
		return take_id(record, &entry->gid);
	if (strcmp(key, "mtime") == 0)
		return take_time(record, &entry->mtime_ns);
	if (strcmp(key, "size") == 0)
		return digits(record->value, record->size, size) ? 0 : damaged();
	return 0;
}

int tar_pax(char *records, size_t length, struct tar_entry *entry, uint64_t *size)
{
	char *at = records, *end = records + length;

	while (at < end) {
		char *blank = memchr(at, ' ', (size_t)(end - at)), *equals;
		struct record record;
		uint64_t count;

		if (!blank || !digits(at, (size_t)(blank - at), &count) || count > (uint64_t)(end - at) ||
		    count < (uint64_t)(blank - at) + 3 || at[count - 1] != '\n')
			return damaged();
		equals = memchr(blank, '=', (size_t)(at + count - blank));
		if (!equals || memchr(blank, '\0', (size_t)(equals - blank)))
			return damaged();
		*equals = at[count - 1] = '\0';
		record = (struct record){ blank + 1, equals + 1, (size_t)(at + count - equals) - 2 };
		if (take(&record, entry, size))
			return -1;
		at += count;
	}
	return 0;
}
