/* The secret has a page of its own which the kernel empties in every fork: the children of the agent run what the guest
 * wants. Whoever hands it in, or compares with it, keeps no copy. */
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
	/* gVisor knows only the second; children never look at the page, so a hole in its place is as good. */
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
