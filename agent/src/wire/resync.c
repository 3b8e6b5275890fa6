/* Hunting. The secret holds no zero byte, so a candidate ends at the next zero and nothing is ever looked at twice. */
#include "wire/resync.h"

#include "base/secret.h"

static bool take_one(struct resync *hunt, uint8_t byte)
{
	bool found;

	if (byte == 0) {
		hunt->zeros = hunt->size ? 1 : hunt->zeros + (hunt->zeros < HUNT_ZEROS);
		hunt->size = 0;
		return false;
	}
	if (hunt->zeros < HUNT_ZEROS) {
		hunt->zeros = 0;
		return false;
	}
	hunt->candidate[hunt->size++] = byte;
	if (hunt->size < SECRET_SIZE)
		return false;
	found = secret_equals(hunt->candidate);
	*hunt = (struct resync){ 0 };
	return found;
}

size_t resync_take(struct resync *hunt, const uint8_t *bytes, size_t size, bool *found)
{
	for (size_t i = 0; i < size; i++)
		if ((*found = take_one(hunt, bytes[i])))
			return i + 1;
	*found = false;
	return size;
}
