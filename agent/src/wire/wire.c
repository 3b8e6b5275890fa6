/* Reads and writes the values inside a payload. */
#include "wire/wire.h"

#include <string.h>

uint32_t load_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void store_u32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

struct reader reader_of(uint8_t *bytes, size_t size)
{
	return (struct reader){ .at = bytes, .end = bytes + size };
}

static void close_text(struct reader *reader)
{
	if (reader->close)
		*reader->close = '\0';
	reader->close = NULL;
}

static uint64_t read_number(struct reader *reader, size_t size)
{
	uint64_t value = 0;

	if (reader->bad || (size_t)(reader->end - reader->at) < size) {
		reader->bad = true;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)reader->at[i] << (8 * i);
	reader->at += size;
	close_text(reader);
	return value;
}

uint8_t read_u8(struct reader *reader)
{
	return (uint8_t)read_number(reader, 1);
}

uint16_t read_u16(struct reader *reader)
{
	return (uint16_t)read_number(reader, 2);
}

uint32_t read_u32(struct reader *reader)
{
	return (uint32_t)read_number(reader, 4);
}

uint64_t read_u64(struct reader *reader)
{
	return read_number(reader, 8);
}

uint8_t *read_bytes(struct reader *reader, size_t *size)
{
	uint8_t *bytes;

	*size = read_u32(reader);
	if (reader->bad || (size_t)(reader->end - reader->at) < *size) {
		reader->bad = true;
		*size = 0;
	}
	bytes = reader->at;
	reader->at += *size;
	return bytes;
}

char *read_text(struct reader *reader)
{
	static char nothing[1];
	size_t size;
	uint8_t *bytes = read_bytes(reader, &size);

	if (reader->bad || memchr(bytes, 0, size)) {
		reader->bad = true;
		return nothing;
	}
	reader->close = reader->at;
	return (char *)bytes;
}

bool reader_done(struct reader *reader)
{
	if (reader->at != reader->end)
		reader->bad = true;
	close_text(reader);
	return !reader->bad;
}

struct writer writer_to(uint8_t *bytes, size_t size)
{
	return (struct writer){ .at = bytes, .end = bytes + size };
}

static bool has_room(struct writer *writer, size_t size)
{
	if ((size_t)(writer->end - writer->at) < size)
		writer->full = true;
	return !writer->full;
}

void write_number(struct writer *writer, uint64_t value, size_t size)
{
	if (!has_room(writer, size))
		return;
	for (size_t i = 0; i < size; i++)
		*writer->at++ = (uint8_t)(value >> (8 * i));
}

void write_str(struct writer *writer, const void *bytes, size_t size)
{
	if (!has_room(writer, size + 4))
		return;
	write_number(writer, size, 4);
	memcpy(writer->at, bytes, size);
	writer->at += size;
}
