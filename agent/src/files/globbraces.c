/* Expands `{a,b}` into patterns. Every pattern in the queue becomes one choice or more, so counting both bounds time
 * and memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/glob.h"

#define NONE ((size_t)-1)

struct work {
	char *todo[GLOB_CHOICES];
	size_t todo_count;
	char **done;
	size_t done_count;
};

/* Finds the first `{` that has its `}` and a comma of its own; one pass, because `{{{{…` would be quadratic
 * otherwise. */
static int find_group(const char *pattern, size_t *open, size_t *close)
{
	size_t stack[GLOB_SIZE], depth = 0;
	char comma[GLOB_SIZE];

	*open = NONE;
	for (size_t i = 0; pattern[i]; i++) {
		if (pattern[i] == '\\' && pattern[i + 1]) {
			i++;
		} else if (pattern[i] == '{') {
			comma[depth] = 0;
			stack[depth++] = i;
		} else if (pattern[i] == ',' && depth > 0) {
			comma[depth - 1] = 1;
		} else if (pattern[i] == '}' && depth > 0) {
			depth--;
			if (comma[depth] && stack[depth] < *open) {
				*open = stack[depth];
				*close = i;
			}
		}
	}
	return *open != NONE;
}

/* Returns the comma or `}` that ends the alternative at `at`. Skips inner groups, also those without a comma. */
static size_t alternative_end(const char *pattern, size_t at, size_t close)
{
	size_t depth = 0;

	for (; at < close; at++) {
		if (pattern[at] == '\\')
			at++;
		else if (pattern[at] == '{')
			depth++;
		else if (pattern[at] == '}' && depth > 0)
			depth--;
		else if (pattern[at] == ',' && depth == 0)
			return at;
	}
	return close;
}

static char *join(const char *pattern, size_t open, size_t from, size_t to, size_t close)
{
	size_t rest = strlen(pattern + close + 1);
	char *made = malloc(open + (to - from) + rest + 1);

	if (made) {
		memcpy(made, pattern, open);
		memcpy(made + open, pattern + from, to - from);
		memcpy(made + open + (to - from), pattern + close + 1, rest + 1);
	}
	return made;
}

static int split(struct work *work, const char *pattern, size_t open, size_t close)
{
	for (size_t from = open + 1, to;; from = to + 1) {
		to = alternative_end(pattern, from, close);
		if (work->todo_count + work->done_count >= GLOB_CHOICES)
			return EINVAL;
		work->todo[work->todo_count] = join(pattern, open, from, to, close);
		if (!work->todo[work->todo_count])
			return ENOMEM;
		work->todo_count++;
		if (to == close)
			return 0;
	}
}

static int step(struct work *work)
{
	char *pattern = work->todo[--work->todo_count];
	size_t open, close = 0;
	int error = 0;

	if (find_group(pattern, &open, &close)) {
		error = split(work, pattern, open, close);
		free(pattern);
	} else {
		work->done[work->done_count++] = pattern;
	}
	return error;
}

char **glob_choices(const char *pattern, size_t *count)
{
	struct work work = { .done = malloc(GLOB_CHOICES * sizeof(char *)) };
	int error = work.done ? 0 : ENOMEM;

	if (strlen(pattern) >= GLOB_SIZE)
		error = EINVAL;
	if (!error && !(work.todo[0] = strdup(pattern)))
		error = ENOMEM;
	if (!error)
		work.todo_count = 1;
	while (!error && work.todo_count > 0)
		error = step(&work);
	if (!error) {
		*count = work.done_count;
		return work.done;
	}
	while (work.todo_count > 0)
		free(work.todo[--work.todo_count]);
	glob_choices_free(work.done, work.done_count);
	errno = error;
	return NULL;
}

void glob_choices_free(char **choices, size_t count)
{
	while (count > 0)
		free(choices[--count]);
	free(choices);
}
