/* Arguments longer than a frame. */
#include "wire/fragments.h"

#include <stdlib.h>
#include <string.h>

static struct pending {
	uint32_t stream; /* 0: free */
	uint8_t *bytes;
	size_t size;
} pending[PARTED_MAX];

static struct pending *find(uint32_t stream)
{
	for (size_t i = 0; i < PARTED_MAX; i++)
		if (pending[i].stream == stream)
			return &pending[i];
	return NULL;
}

static int append(struct pending *to, const uint8_t *bytes, size_t size)
{
	uint8_t *grown;

	if (size > ARGUMENTS_MAX - to->size)
		return -1;
	/* One more byte, for the NUL that ends the last string. */
	grown = realloc(to->bytes, to->size + size + 1);
	if (!grown)
		return -1;
	to->bytes = grown;
	memcpy(grown + to->size, bytes, size);
	to->size += size;
	return 0;
}

int fragments_take(const struct frame *frame)
{
	struct pending *to = find(frame->stream);

	if (!to)
		to = find(0);
	if (!to)
		return -1;
	to->stream = frame->stream;
	return append(to, frame->payload, frame->size);
}

int fragments_join(struct parts *parts, const struct frame *frame)
{
	struct pending *from = find(frame->stream);

	parts->joined = NULL;
	if (!from) {
		parts->arguments = reader_of(frame->payload + 1, frame->size - 1);
		return 0;
	}
	if (append(from, frame->payload + 1, frame->size - 1))
		return -1;
	parts->arguments = reader_of(from->bytes, from->size);
	parts->joined = from->bytes;
	*from = (struct pending){ 0 };
	return 0;
}

void fragments_drop(uint32_t stream)
{
	struct pending *from = stream ? find(stream) : NULL;

	if (!from)
		return;
	free(from->bytes);
	*from = (struct pending){ 0 };
}

void fragments_drop_all(void)
{
	for (size_t i = 0; i < PARTED_MAX; i++)
		fragments_drop(pending[i].stream);
}
