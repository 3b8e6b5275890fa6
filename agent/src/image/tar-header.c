/* One block of a tar archive: POSIX ustar, with GNU's format for large numbers. */
#define _GNU_SOURCE
#include <string.h>

#include "image/fault.h"
#include "image/tar.h"

#define NANOSECONDS 1000000000LL
/* Beyond what 64 bits of nanoseconds hold. */
#define SECONDS_MAX 9000000000LL

struct field {
	size_t at, size;
};

static const struct field name_field = { 0, 100 }, mode_field = { 100, 8 }, uid_field = { 108, 8 },
	gid_field = { 116, 8 }, size_field = { 124, 12 }, mtime_field = { 136, 12 }, sum_field = { 148, 8 },
	link_field = { 157, 100 }, major_field = { 329, 8 }, minor_field = { 337, 8 }, prefix_field = { 345, 155 };

#define TYPE_AT 156
#define MAGIC_AT 257

static int damaged(void)
{
	return refuse("the input is not a tar archive, or it is damaged");
}

/* Big endian with the first bit set, where digits are too few; the second bit is the sign. */
static int binary(const uint8_t *bytes, size_t size, int64_t *value)
{
	uint8_t sign = bytes[0] & 0x40 ? 0xff : 0;
	uint64_t number = sign ? UINT64_MAX : 0;

	for (size_t i = 0; i < size; i++) {
		uint8_t byte = i == 0 ? (uint8_t)((bytes[0] & 0x7f) | (sign & 0x80)) : bytes[i];

		if (number >> 56 != sign)
			return damaged();
		number = number << 8 | byte;
	}
	*value = (int64_t)number;
	return (*value < 0) == (sign != 0) ? 0 : damaged();
}

/* Octal digits between blanks or NULs. */
static int octal(const uint8_t *bytes, size_t size, int64_t *value)
{
	size_t at = 0;

	*value = 0;
	while (at < size && bytes[at] == ' ')
		at++;
	for (; at < size && bytes[at] >= '0' && bytes[at] <= '7'; at++)
		*value = *value * 8 + (bytes[at] - '0');
	if (at < size && bytes[at] == '\0')
		return 0;
	for (; at < size; at++)
		if (bytes[at] != ' ' && bytes[at] != '\0')
			return damaged();
	return 0;
}

static int number(const uint8_t *block, struct field field, int64_t *value)
{
	const uint8_t *bytes = block + field.at;

	return bytes[0] & 0x80 ? binary(bytes, field.size, value) : octal(bytes, field.size, value);
}

/* A number that cannot be negative. */
static int natural(const uint8_t *block, struct field field, uint64_t most, uint64_t *value)
{
	int64_t read;

	if (number(block, field, &read))
		return -1;
	if (read < 0 || (uint64_t)read > most)
		return refuse("an entry has an impossible owner, size or device");
	*value = (uint64_t)read;
	return 0;
}

/* The sum of all bytes, its own field as blanks; some old programs took bytes for signed. */
static int check_sum(const uint8_t *block)
{
	int64_t sum, is_unsigned = 0, is_signed = 0;

	if (octal(block + sum_field.at, sum_field.size, &sum))
		return -1;
	for (size_t at = 0; at < TAR_BLOCK; at++) {
		uint8_t byte = at >= sum_field.at && at < sum_field.at + sum_field.size ? ' ' : block[at];

		is_unsigned += byte;
		is_signed += (int8_t)byte;
	}
	return sum == is_unsigned || sum == is_signed ? 0 : damaged();
}

static size_t copy_text(char *to, const uint8_t *block, struct field field)
{
	size_t size = strnlen((const char *)block + field.at, field.size);

	memcpy(to, block + field.at, size);
	to[size] = '\0';
	return size;
}

static void read_path(const uint8_t *block, struct tar_entry *entry)
{
	bool is_posix = memcmp(block + MAGIC_AT, "ustar", 6) == 0;
	size_t size = is_posix ? copy_text(entry->header_path, block, prefix_field) : 0;

	if (size > 0)
		entry->header_path[size++] = '/';
	copy_text(entry->header_path + size, block, name_field);
	copy_text(entry->header_target, block, link_field);
}

static int read_numbers(const uint8_t *block, struct tar_entry *entry, uint64_t *size)
{
	uint64_t mode, uid, gid;
	int64_t mtime;

	if (natural(block, mode_field, UINT64_MAX, &mode) || natural(block, uid_field, UINT32_MAX - 1, &uid))
		return -1;
	if (natural(block, gid_field, UINT32_MAX - 1, &gid) || natural(block, size_field, INT64_MAX, size))
		return -1;
	if (number(block, mtime_field, &mtime))
		return -1;
	if (mtime > SECONDS_MAX || mtime < -SECONDS_MAX)
		mtime = mtime < 0 ? -SECONDS_MAX : SECONDS_MAX;
	entry->mode = mode & 07777;
	entry->uid = (uint32_t)uid;
	entry->gid = (uint32_t)gid;
	entry->mtime_ns = mtime * NANOSECONDS;
	return 0;
}

static int read_device(const uint8_t *block, struct tar_entry *entry)
{
	uint64_t major, minor;

	if (natural(block, major_field, UINT32_MAX, &major) || natural(block, minor_field, UINT32_MAX, &minor))
		return -1;
	entry->major = (uint32_t)major;
	entry->minor = (uint32_t)minor;
	return 0;
}

int tar_header(const uint8_t *block, struct tar_entry *entry, uint64_t *size)
{
	int type = block[TYPE_AT];

	if (block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0)
		return 0;
	if (check_sum(block) || read_numbers(block, entry, size))
		return -1;
	read_path(block, entry);
	entry->major = entry->minor = 0;
	/* '7' is a file that should lie in one piece; NUL is a file of before 1988. */
	if (type == '\0' || type == '7')
		type = TAR_FILE;
	if (type == 'S')
		return refuse("the archive contains sparse files in an unsupported format");
	if (!memchr("0123456xgLKV", type, 12))
		return refuse("the archive contains an entry of an unknown type");
	entry->type = (enum tar_type)type;
	if ((type == TAR_CHARACTERS || type == TAR_BLOCKS) && read_device(block, entry))
		return -1;
	return type;
}
