/* Messages of the child: `u32 length, u8 type, payload`. The child is our own program, but it works on the guest's
 * files. */
#include <stdlib.h>
#include <string.h>

#include "files/files.h"

static uint8_t *copy(const uint8_t *bytes, size_t size)
{
	uint8_t *made = malloc(size ? size : 1);

	if (made)
		memcpy(made, bytes, size);
	return made;
}

/* `u8 type` and payload. */
static int take(struct work *work, const uint8_t *message, size_t size)
{
	if (message[0] == FRAME_DATA && !work->info && size > 2) {
		work->info = copy(message + 2, size - 2);
		work->info_size = size - 2;
		return work->info ? 0 : -1;
	}
	if ((message[0] != FRAME_RESULT && message[0] != FRAME_ERROR) || work->last)
		return -1;
	work->last = copy(message, size);
	work->last_size = size;
	return work->last ? 0 : -1;
}

int work_messages(struct work *work)
{
	size_t at = 0;

	while (work->message_size - at >= 4) {
		size_t size = load_u32(work->message + at);

		if (size < 1 || size > MESSAGE_MAX - 4)
			return -1;
		if (work->message_size - at - 4 < size)
			break;
		if (take(work, work->message + at + 4, size))
			return -1;
		at += 4 + size;
	}
	memmove(work->message, work->message + at, work->message_size - at);
	work->message_size -= at;
	return 0;
}
