/* The secret holds no zero byte, so a candidate ends at the next zero and no byte is examined twice. */
#include "wire/resync.h"

#include "base/secret.h"

static bool take_one(struct resync *resync, uint8_t byte)
{
	bool found;

	if (byte == 0) {
		resync->zeros = resync->size ? 1 : resync->zeros + (resync->zeros < RESYNC_ZEROS);
		resync->size = 0;
		return false;
	}
	if (resync->zeros < RESYNC_ZEROS) {
		resync->zeros = 0;
		return false;
	}
	resync->candidate[resync->size++] = byte;
	if (resync->size < SECRET_SIZE)
		return false;
	found = secret_equals(resync->candidate);
	*resync = (struct resync){ 0 };
	return found;
}

size_t resync_take(struct resync *resync, const uint8_t *bytes, size_t size, bool *found)
{
	for (size_t i = 0; i < size; i++)
		if ((*found = take_one(resync, bytes[i])))
			return i + 1;
	*found = false;
	return size;
}
