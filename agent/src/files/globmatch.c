/* Matches one name against one part of a pattern. On a mismatch only the last `*` takes one byte more: an earlier one
 * could take nothing that the last cannot, so going back further finds nothing. */
#include "files/glob.h"

/* Returns the end of the set that begins after `[`, or NULL: then `[` is literal. A leading `]` is a member. */
static const char *set_end(const char *at)
{
	if (*at == '!' || *at == '^')
		at++;
	if (*at == ']')
		at++;
	while (*at && *at != ']')
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return *at ? at : NULL;
}

static unsigned char member(const char **at)
{
	if (**at == '\\')
		(*at)++;
	return (unsigned char)*(*at)++;
}

static int in_set(const char *at, const char *end, unsigned char byte)
{
	int negated = *at == '!' || *at == '^', found = 0;

	if (negated)
		at++;
	while (at < end) {
		unsigned char low = member(&at), high = low;

		if (at[0] == '-' && at + 1 < end) {
			at++;
			high = member(&at);
		}
		found |= low <= byte && byte <= high;
	}
	return found != negated;
}

/* Returns the pattern after the one element at `part`, or NULL when that does not match `byte`. */
static const char *match_byte(const char *part, unsigned char byte)
{
	const char *end = *part == '[' ? set_end(part + 1) : NULL;

	if (end)
		return in_set(part + 1, end, byte) ? end + 1 : NULL;
	if (*part == '?')
		return part + 1;
	if (*part == '\\' && part[1])
		part++;
	return *part && (unsigned char)*part == byte ? part + 1 : NULL;
}

int glob_match(const char *part, const char *name)
{
	const char *after_star = NULL, *taken = NULL, *next;
	int dotted = part[0] == '.' || (part[0] == '\\' && part[1] == '.');

	if (*name == '.' && !dotted)
		return 0;
	while (*name) {
		if (*part == '*') {
			after_star = ++part;
			taken = name;
		} else if ((next = match_byte(part, (unsigned char)*name))) {
			part = next;
			name++;
		} else if (after_star) {
			part = after_star;
			name = ++taken;
		} else {
			return 0;
		}
	}
	while (*part == '*')
		part++;
	return *part == 0;
}
