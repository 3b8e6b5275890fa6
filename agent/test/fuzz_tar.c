/* Sends hostile archives through the reader of `svc-agent unpack`: sound ones with bytes changed, put in, left out and
 * cut off, mostly with their sums made right again. `fuzz-tar [iterations] [seed]` is deterministic; with -DENGINE the
 * same input is libFuzzer's. What the reader hands on is checked as strictly as unpacking relies on it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/failure.h"
#include "image/fault.h"
#include "image/tar.h"

#define ROOM (1 << 18)
#define NAMES 6

static uint64_t entries, refused;

static void check_text(const char *text, const uint8_t *low, const uint8_t *high, const struct tar_entry *entry)
{
	const uint8_t *at = (const uint8_t *)text;
	bool is_inside = (at >= low && at < high) || text == entry->header_path || text == entry->header_target;

	if (!is_inside || strlen(text) > 4095)
		abort();
}

static void check(const struct tar *tar, const struct tar_entry *entry)
{
	const uint8_t *low = (const uint8_t *)tar->extension, *high = low + sizeof(tar->extension);

	check_text(entry->path, low, high, entry);
	if (entry->type == TAR_LINK || entry->type == TAR_HARD_LINK) {
		check_text(entry->target, low, high, entry);
		if (!*entry->target)
			abort();
	}
	if (!memchr("0123456", entry->type, 7) || entry->mode > 07777 || entry->attribute_count > TAR_ATTRIBUTES_MAX)
		abort();
	if (entry->type != TAR_FILE && entry->size != 0)
		abort();
	for (size_t i = 0; i < entry->attribute_count; i++) {
		const struct tar_attribute *attribute = &entry->attributes[i];
		const uint8_t *value = (const uint8_t *)attribute->value;

		if (strlen(attribute->name) != attribute->name_size || value < low || value + attribute->value_size > high)
			abort();
	}
}

/* Half of the contents are read, the others left for the reader to skip. */
static int read_content(struct tar *tar, const struct tar_entry *entry)
{
	const uint8_t *part = NULL;
	uint64_t size = 0;
	int64_t got = 0;

	if (entries % 2 || entry->type != TAR_FILE)
		return 0;
	while ((got = tar_content(tar, &part)) > 0) {
		if (part < tar->input || part + got > tar->input + TAR_INPUT)
			abort();
		size += (uint64_t)got;
	}
	if (got == 0 && size != entry->size)
		abort();
	return (int)got;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct tar tar;
	static struct tar_entry entry;
	static int file = -1;
	int more;

	if (file < 0)
		file = memfd_create("archive", 0);
	if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size || lseek(file, 0, SEEK_SET))
		abort();
	tar_open(&tar, file);
	tar.may_lack_end = size % 2;
	while ((more = tar_next(&tar, &entry)) > 0) {
		entries++;
		check(&tar, &entry);
		if (read_content(&tar, &entry))
			break;
	}
	/* Whatever it refuses, it says why. */
	if (more < 0 && (!failure[0] || fault_kind() != FAULT_ARCHIVE))
		abort();
	refused += more != 0;
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

static void set_sum(uint8_t *block)
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (size_t at = 0; at < TAR_BLOCK; at++)
		sum += block[at];
	snprintf((char *)block + 148, 8, "%06o", sum & 0777777);
}

/* A value that readers have got wrong before. */
static const char *odd_number(void)
{
	static const char *const numbers[] = { "00000000000", "77777777777", "-1", "\x80\x7f", "\xff\xff\xff", "9", " 12 ",
					       "00000001000", "00000000777" };

	return numbers[chance(9)];
}

static size_t put_block(uint8_t *at, int type, const char *name, size_t size)
{
	memset(at, 0, TAR_BLOCK);
	snprintf((char *)at, 100, "%s", name);
	memcpy(at + 100, "0000644\0000000000\0000000000", 24);
	snprintf((char *)at + 124, 12, "%011zo", size);
	snprintf((char *)at + 136, 12, "%011o", chance(INT32_MAX));
	at[156] = (uint8_t)type;
	if (type == '1' || type == '2')
		snprintf((char *)at + 157, 100, "%s", chance(3) ? "target" : "../../etc/passwd");
	memcpy(at + 257, chance(3) ? "ustar\00000" : "ustar  ", 8);
	if (chance(8) == 0)
		memcpy(at + (chance(2) ? 124 : 136), odd_number(), 2);
	set_sum(at);
	return TAR_BLOCK;
}

static size_t put_pax(char *to, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;

	while ((size_t)snprintf(NULL, 0, "%zu", length) + rest != length)
		length++;
	/* Lengths that lead a little, or far, beyond the header. */
	if (chance(20) == 0)
		length += chance(2) ? chance(5) : 1U << 30;
	return (size_t)sprintf(to, "%zu %s=%s\n", length, key, value);
}

static size_t make_pax(char *text)
{
	static const char *const keys[] = { "path", "linkpath", "size", "uid", "mtime", "comment",
					    "SCHILY.xattr.security.capability", "SCHILY.xattr.user.x", "GNU.sparse.major",
					    "SCHILY.xattr.user.overlay.opaque" };
	static const char *const values[] = { "a/b", "", "12", "99999999999999999999", "-1.5", "1.", "../x", "512" };
	size_t size = 0;

	for (uint32_t records = chance(6); records > 0; records--)
		size += put_pax(text + size, keys[chance(chance(20) ? 8 : 10)], values[chance(8)]);
	return size;
}

static size_t make_entry(uint8_t *at)
{
	static const char *const names[NAMES] = { "a", "dir/", "dir/x", "/abs/./y", "..", ".wh.x" };
	static char text[8192];
	size_t size = chance(4) ? chance(2000) : 0, used;
	int type = "00000122345677xxxLKgV"[chance(21)];

	memset(text, 'c', sizeof(text));
	if (type == 'x')
		size = make_pax(text);
	else if (type == 'L' || type == 'K')
		size = 1 + chance(chance(10) ? 300 : 6000);
	used = put_block(at, type, names[chance(NAMES)], size);
	if (strchr("07xLKgV", type)) {
		memcpy(at + used, text, size);
		used += (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	}
	return used;
}

static size_t damage(uint8_t *bytes, size_t size)
{
	for (uint32_t changes = chance(3); changes > 0 && size > 0; changes--) {
		size_t at = chance((uint32_t)size), block = at / TAR_BLOCK * TAR_BLOCK;

		bytes[at] = chance(2) ? (uint8_t)chance(256) : (uint8_t)('0' + chance(8));
		if (chance(4) && block + TAR_BLOCK <= size && memcmp(bytes + block + 257, "ustar", 5) == 0)
			set_sum(bytes + block);
	}
	return chance(8) ? size : chance((uint32_t)size + 1);
}

int main(int argc, char **argv)
{
	static uint8_t bytes[ROOM];
	long iterations = argc > 1 ? atol(argv[1]) : 2000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	if (iterations < 1)
		return 2;
	for (long i = 0; i < iterations; i++) {
		size_t size = 0;

		state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL + 1;
		for (uint32_t count = chance(12); count > 0; count--)
			size += make_entry(bytes + size);
		memset(bytes + size, 0, 2 * TAR_BLOCK);
		size += 2 * TAR_BLOCK;
		LLVMFuzzerTestOneInput(bytes, damage(bytes, size));
	}
	printf("fuzz-tar: %ld archives from seed %llu, %llu entries, %llu refused\n", iterations,
	       (unsigned long long)seed, (unsigned long long)entries, (unsigned long long)refused);
	return 0;
}
#endif
