/* Failures of unpacking. The words hold no bytes of the archive: an operator reads them on a terminal. */
#include "image/fault.h"

#include <errno.h>

#include "base/failure.h"

static enum fault kind;

static int keep(enum fault new_kind, const char *words)
{
	kind = new_kind;
	return fail("%s", words);
}

int refuse(const char *words)
{
	errno = 0;
	return keep(FAULT_ARCHIVE, words);
}

int beyond(const char *words)
{
	errno = 0;
	return keep(FAULT_LIMIT, words);
}

int fail_system(const char *words)
{
	return keep(errno == ENOSPC || errno == EDQUOT ? FAULT_ROOM : FAULT_SYSTEM, words);
}

int fail_confine(const char *words)
{
	return keep(FAULT_CONFINE, words);
}

enum fault fault_kind(void)
{
	return kind;
}
