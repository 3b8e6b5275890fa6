/* A balanced tree of paths: an archive can name a million folders, in any order. */
#define _GNU_SOURCE
#include "image/implied.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "image/fault.h"

static void *paths;

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

bool implied_has(const char *path)
{
	return tfind(path, &paths, compare) != NULL;
}

int implied_note(const char *path, bool is_implied)
{
	void *found = tfind(path, &paths, compare);
	char *kept;

	if (found && !is_implied) {
		kept = *(char **)found;
		tdelete(kept, &paths, compare);
		free(kept);
	}
	if (found || !is_implied)
		return 0;
	kept = strdup(path);
	if (!kept || !tsearch(kept, &paths, compare)) {
		free(kept);
		errno = ENOMEM;
		return fail_system("note a folder");
	}
	return 0;
}

void implied_clear(void)
{
	tdestroy(paths, free);
	paths = NULL;
}
