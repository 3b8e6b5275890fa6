/* Only one reason is kept: launch and init give up at the first failure. */
#define _GNU_SOURCE
#include "base/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char failure[1024];

int fail(const char *words, ...)
{
	int number = errno;
	va_list list;
	int size;

	va_start(list, words);
	size = vsnprintf(failure, sizeof(failure), words, list);
	va_end(list);
	if (number && size >= 0 && (size_t)size < sizeof(failure))
		snprintf(failure + size, sizeof(failure) - (size_t)size, ": %s", strerror(number));
	return -1;
}
