/* The secret has a page of its own, which the kernel empties in every fork, because the agent's children run the
 * guest's programs. Callers keep no copy. */
#define _GNU_SOURCE
#include "base/secret.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t *page;

int secret_keep(uint8_t secret[SECRET_SIZE])
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	/* gVisor supports only the second. Children never read the page, so a hole in its place serves as well. */
	if (madvise(memory, size, MADV_WIPEONFORK))
		madvise(memory, size, MADV_DONTFORK);
	mlock(memory, size);
	page = memory;
	memcpy(page, secret, SECRET_SIZE);
	explicit_bzero(secret, SECRET_SIZE);
	return 0;
}

bool secret_replace(const uint8_t secret[SECRET_SIZE])
{
	if (memchr(secret, 0, SECRET_SIZE))
		return false;
	memcpy(page, secret, SECRET_SIZE);
	return true;
}

bool secret_equals(const uint8_t candidate[SECRET_SIZE])
{
	uint8_t difference = 0;

	for (int i = 0; i < SECRET_SIZE; i++)
		difference |= (uint8_t)(candidate[i] ^ page[i]);
	return difference == 0;
}
