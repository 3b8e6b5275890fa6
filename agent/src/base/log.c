/* Standard error may be a pipe that nobody reads, and a hostile guest may cause many lines: at most 64 KiB/s are written,
 * and only when the write does not block. */
#include "base/log.h"

#include "base/clock.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>


#define LINE_SIZE 512
#define BYTES_A_SECOND 65536

static log_sink *keep;

void log_set_sink(log_sink *sink)
{
	keep = sink;
}

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

void log_line(const char *words, ...)
{
	char line[LINE_SIZE];
	va_list list;
	size_t size;

	va_start(list, words);
	vsnprintf(line, sizeof(line) - 1, words, list);
	va_end(list);
	size = strlen(line);
	if (keep)
		keep("agent", line, size);
	line[size++] = '\n';
	/* A line that standard error cannot take is in the sink. */
	if (may_write(size) && write(STDERR_FILENO, line, size) < 0)
		return;
}
