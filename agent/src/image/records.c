/* Writes and reads the records of a layer (records.h). */
#define _GNU_SOURCE
#include "image/records.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "image/fault.h"
#include "image/image.h"

#define HEAD 28

static uint8_t buffer[64 * 1024];
static size_t used;
static uint64_t records_left = UINT64_MAX, bytes_left = UINT64_MAX;

void records_limit(uint64_t max_records, uint64_t max_bytes)
{
	records_left = max_records;
	bytes_left = max_bytes;
}

int records_flush(void)
{
	for (size_t at = 0; at < used;) {
		ssize_t put = write(RECORDS_FD, buffer + at, used - at);

		if (put < 0 && errno != EINTR)
			return fail_system("write the records");
		at += put > 0 ? (size_t)put : 0;
	}
	used = 0;
	return 0;
}

static int add(const void *bytes, size_t size)
{
	for (const uint8_t *next = bytes; size > 0;) {
		size_t part = sizeof(buffer) - used < size ? sizeof(buffer) - used : size;

		memcpy(buffer + used, next, part);
		used += part;
		next += part;
		size -= part;
		if (used == sizeof(buffer) && records_flush())
			return -1;
	}
	return 0;
}

static int add_number(uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return add(bytes, size);
}

static int add_text(const char *text, size_t size)
{
	return add_number(size, 4) || add(text, size) ? -1 : 0;
}

static uint64_t size_of(const struct record *record, const struct tar_entry *entry)
{
	uint64_t size = HEAD + 4 + strlen(record->path) + 4 + (record->target ? strlen(record->target) : 0) + 2;

	for (size_t i = 0; i < entry->attribute_count; i++)
		size += 8 + entry->attributes[i].name_size + entry->attributes[i].value_size;
	return size;
}

/* Who reads the records keeps all paths of a layer in memory. */
static int take_from_limit(const struct record *record, const struct tar_entry *entry)
{
	uint64_t size = size_of(record, entry);

	if (strlen(record->path) >= PATH_MAX)
		return refuse("an entry has a path that is too long");
	if (records_left == 0)
		return beyond("the archive holds more entries than allowed");
	if (size > bytes_left)
		return beyond("the archive holds more names and attributes than allowed");
	records_left--;
	bytes_left -= size;
	return 0;
}

static int add_attributes(const struct tar_entry *entry)
{
	for (size_t i = 0; i < entry->attribute_count; i++) {
		const struct tar_attribute *attribute = &entry->attributes[i];

		if (add_text(attribute->name, attribute->name_size) || add_text(attribute->value, attribute->value_size))
			return -1;
	}
	return 0;
}

int records_add(const struct record *record, const struct tar_entry *entry)
{
	static const struct tar_entry nothing = { .mode = 0755 };
	const char *target = record->target ? record->target : "";

	if (!entry)
		entry = &nothing;
	if (take_from_limit(record, entry))
		return -1;
	if (add_number((uint64_t)record->type, 1) || add_number(record->flags, 1) || add_number(entry->mode, 2))
		return -1;
	if (add_number(entry->uid, 4) || add_number(entry->gid, 4) || add_number((uint64_t)entry->mtime_ns, 8))
		return -1;
	if (add_number(record->size, 8) || add_text(record->path, strlen(record->path)))
		return -1;
	if (add_text(target, strlen(target)) || add_number(entry->attribute_count, 2))
		return -1;
	return add_attributes(entry);
}

static int damaged(void)
{
	errno = 0;
	return fail_system("the records of a layer are damaged");
}

static int read_number(FILE *file, size_t size, uint64_t *value)
{
	uint8_t bytes[8];

	*value = 0;
	if (fread(bytes, 1, size, file) != size)
		return damaged();
	for (size_t i = size; i > 0; i--)
		*value = *value << 8 | bytes[i - 1];
	return 0;
}

static int read_path(FILE *file, char *room)
{
	uint64_t size;

	if (read_number(file, 4, &size))
		return -1;
	if (size >= PATH_MAX || fread(room, 1, (size_t)size, file) != size)
		return damaged();
	room[size] = '\0';
	return 0;
}

static int skip_text(FILE *file)
{
	uint64_t size;

	if (read_number(file, 4, &size))
		return -1;
	for (; size > 0; size--)
		if (getc_unlocked(file) == EOF)
			return damaged();
	return 0;
}

int records_next(FILE *file, struct record *record, char *room)
{
	uint8_t head[HEAD];
	size_t got = fread(head, 1, sizeof(head), file);
	uint64_t attributes;

	if (got == 0 && feof(file))
		return 0;
	if (got != sizeof(head) || read_path(file, room) || skip_text(file) || read_number(file, 2, &attributes))
		return damaged();
	for (attributes *= 2; attributes > 0; attributes--)
		if (skip_text(file))
			return -1;
	record->type = (enum record_type)head[0];
	record->flags = head[1];
	record->path = room;
	return 1;
}
