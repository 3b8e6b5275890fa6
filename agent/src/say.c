/* The agent's own words. Standard error may be a pipe that nobody reads, and what makes the agent talk may be hostile:
 * at most 64 KiB/s leave, and only when they can be taken at once. */
#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "moment.h"

#define LINE_SIZE 512
#define BYTES_A_SECOND 65536

static bool may_write(size_t size)
{
	static uint64_t since;
	static size_t written;
	struct pollfd errors = { .fd = STDERR_FILENO, .events = POLLOUT };
	uint64_t now = now_us();

	if (now - since > 1000000) {
		since = now;
		written = 0;
	}
	if (written + size > BYTES_A_SECOND || poll(&errors, 1, 0) != 1 || !(errors.revents & POLLOUT))
		return false;
	written += size;
	return true;
}

void say(const char *words, ...)
{
	char line[LINE_SIZE];
	va_list list;
	size_t size;

	va_start(list, words);
	vsnprintf(line, sizeof(line) - 1, words, list);
	va_end(list);
	size = strlen(line);
	console_add("agent", line, size);
	line[size++] = '\n';
	/* A word that is lost is lost: it stands in the console. */
	if (may_write(size) && write(STDERR_FILENO, line, size) < 0)
		return;
}
