/* A pattern as one array of parts, so that a match is a set of positions in it and one walk serves all choices. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/glob.h"

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorts and removes duplicates; `{a,a,a}` is one choice. */
static size_t drop_twins(char **choices, size_t count)
{
	size_t kept = 0;

	qsort(choices, count, sizeof(*choices), by_text);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && strcmp(choices[kept - 1], choices[i]) == 0)
			free(choices[i]);
		else
			choices[kept++] = choices[i];
	}
	return kept;
}

/* Unescapes a part without wildcards in place; returns 0 when it has wildcards. */
static int unescape(char *part)
{
	char *to = part;

	if (strpbrk(part, "*?["))
		return 0;
	for (const char *at = part; *at; at++) {
		if (at[0] == '\\' && at[1])
			at++;
		*to++ = *at;
	}
	*to = 0;
	return 1;
}

static int add(struct glob_parts *parts, enum glob_kind kind, char *text)
{
	if (parts->count == GLOB_PARTS)
		return -1;
	parts->at[parts->count++] = (struct glob_part){ .kind = kind, .text = text };
	return 0;
}

/* A repeated `**` adds nothing, nor does `.`; `..` would leave the folder whose names it is matched with. */
static int add_part(struct glob_parts *parts, char *text)
{
	int deep = parts->count > 0 && parts->at[parts->count - 1].kind == GLOB_DEEP;

	if (strcmp(text, "**") == 0)
		return deep ? 0 : add(parts, GLOB_DEEP, NULL);
	if (!unescape(text))
		return strlen(text) > GLOB_PART_SIZE ? -1 : add(parts, GLOB_WILD, text);
	if (strcmp(text, "..") == 0)
		return -1;
	return strcmp(text, ".") == 0 ? 0 : add(parts, GLOB_NAME, text);
}

static int add_choice(struct glob_parts *parts, char *choice)
{
	static char anything[] = "*";
	char *rest = NULL;

	if (*choice != '/')
		return -1;
	parts->starts[parts->start_count++] = parts->count;
	for (char *part = strtok_r(choice, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		if (add_part(parts, part))
			return -1;
	}
	if (parts->count > 0 && parts->at[parts->count - 1].kind == GLOB_DEEP && add(parts, GLOB_WILD, anything))
		return -1;
	return add(parts, GLOB_END, NULL);
}

static size_t text_size(char **choices, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += strlen(choices[i]) + 1;
	return size;
}

/* `\/` is `/`. */
static void copy_choice(char *to, const char *from)
{
	while (*from) {
		if (from[0] == '\\' && from[1] == '/')
			from++;
		else if (from[0] == '\\' && from[1])
			*to++ = *from++;
		*to++ = *from++;
	}
	*to = 0;
}

static int add_choices(struct glob_parts *parts, char **choices, size_t count)
{
	char *text = parts->text;

	for (size_t i = 0; i < count; i++) {
		copy_choice(text, choices[i]);
		if (add_choice(parts, text)) {
			errno = EINVAL;
			return -1;
		}
		text += strlen(choices[i]) + 1;
	}
	return 0;
}

int glob_compile(struct glob_parts *parts, const char *pattern)
{
	size_t count = 0;
	char **choices = glob_choices(pattern, &count);
	int status = -1;

	*parts = (struct glob_parts){ 0 };
	if (!choices)
		return -1;
	count = drop_twins(choices, count);
	parts->at = malloc(GLOB_PARTS * sizeof(*parts->at));
	parts->starts = malloc(count * sizeof(*parts->starts));
	parts->text = malloc(text_size(choices, count));
	if (parts->at && parts->starts && parts->text)
		status = add_choices(parts, choices, count);
	else
		errno = ENOMEM;
	glob_choices_free(choices, count);
	return status;
}

void glob_free(struct glob_parts *parts)
{
	free(parts->at);
	free(parts->starts);
	free(parts->text);
}
