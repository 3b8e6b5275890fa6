/* The headers of an archive that is packed: ustar, with a pax header where ustar has too few digits or letters.
 * pax(1), "ustar Interchange Format" */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "files/filework.h"

#define BLOCK 512
#define NAME_SIZE 100
#define ID_MAX 07777777u
#define SIZE_LIMIT 077777777777ull
#define LEFT_OUT "SVC.left_out"
/* Readers bound the metadata between two entries. */
#define NOTES_MAX (256 * 1024)

static void put(struct file_bytes *bytes, const void *from, size_t size)
{
	static const uint8_t nothing[BLOCK];

	file_put_bytes(bytes, from ? from : nothing, size);
}

void file_put_padding(struct file_bytes *bytes, uint64_t size)
{
	put(bytes, NULL, (size_t)((BLOCK - size % BLOCK) % BLOCK));
}

void file_put_end(struct file_bytes *bytes)
{
	put(bytes, NULL, BLOCK);
	put(bytes, NULL, BLOCK);
}

static void put_header(struct file_bytes *bytes, char type, const struct file_entry *entry, uint64_t size)
{
	const struct stat *facts = entry->facts;
	uint64_t seconds = facts && facts->st_mtim.tv_sec > 0 ? (uint64_t)facts->st_mtim.tv_sec : 0;
	char block[BLOCK + 1] = { 0 };
	unsigned sum = 0;

	memcpy(block, entry->path, strnlen(entry->path, NAME_SIZE));
	snprintf(block + 100, 8, "%07o", facts ? facts->st_mode & MODE_BITS : 0644);
	snprintf(block + 108, 8, "%07o", facts && facts->st_uid <= ID_MAX ? facts->st_uid : 0);
	snprintf(block + 116, 8, "%07o", facts && facts->st_gid <= ID_MAX ? facts->st_gid : 0);
	snprintf(block + 124, 12, "%011llo", size <= SIZE_LIMIT ? (unsigned long long)size : 0);
	snprintf(block + 136, 12, "%011llo", (unsigned long long)(seconds <= SIZE_LIMIT ? seconds : 0));
	memset(block + 148, ' ', 8);
	block[156] = type;
	if (entry->target)
		memcpy(block + 157, entry->target, strnlen(entry->target, NAME_SIZE));
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum & 0777777);
	put(bytes, block, BLOCK);
}

/* `length key=value\n`, the length counting itself. */
static void put_record(struct file_bytes *records, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;
	char start[64];

	while ((size_t)snprintf(NULL, 0, "%zu", length) + rest != length)
		length++;
	put(records, start, (size_t)snprintf(start, sizeof(start), "%zu %s=", length, key));
	put(records, value, strlen(value));
	file_put_u8(records, '\n');
}

static void put_number(struct file_bytes *records, const char *key, unsigned long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	put_record(records, key, text);
}

static void put_records(struct file_bytes *bytes, char type, const struct file_bytes *records)
{
	struct file_entry entry = { .path = "././@PaxHeader" };

	put_header(bytes, type, &entry, records->size);
	put(bytes, records->at, records->size);
	file_put_padding(bytes, records->size);
}

void file_put_entry(struct file_bytes *bytes, const struct file_entry *entry)
{
	static struct file_bytes records;

	records.size = 0;
	if (strlen(entry->path) > NAME_SIZE)
		put_record(&records, "path", entry->path);
	if (entry->target && strlen(entry->target) > NAME_SIZE)
		put_record(&records, "linkpath", entry->target);
	if (entry->size > SIZE_LIMIT)
		put_number(&records, "size", entry->size);
	if (entry->facts->st_uid > ID_MAX)
		put_number(&records, "uid", entry->facts->st_uid);
	if (entry->facts->st_gid > ID_MAX)
		put_number(&records, "gid", entry->facts->st_gid);
	if (records.size > 0)
		put_records(bytes, 'x', &records);
	put_header(bytes, entry->type, entry, entry->size);
}

static uint64_t unnoted;

void file_note_left_out(struct file_bytes *records, const char *path, int error)
{
	static struct file_bytes value;
	char number[16];

	if (records->size > NOTES_MAX) {
		unnoted++;
		return;
	}
	value.size = 0;
	put(&value, number, (size_t)snprintf(number, sizeof(number), "%d ", error));
	put(&value, path, strlen(path) + 1);
	put_record(records, LEFT_OUT, (const char *)value.at);
}

void file_put_left_out(struct file_bytes *bytes, struct file_bytes *records)
{
	if (records->size == 0)
		return;
	if (unnoted > 0)
		put_number(records, LEFT_OUT "_more", unnoted);
	put_records(bytes, 'g', records);
	records->size = 0;
	unnoted = 0;
}
