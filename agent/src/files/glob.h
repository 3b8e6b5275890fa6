/* Patterns of paths. A pattern is absolute and matches whole paths:
 *   *  ?      any bytes, one byte of a name        [a-z] [!x] [^x]  one byte of a set
 *   **        alone between slashes: any number of folders, not through links; at the end: everything below
 *   {a,b}     either, nested, over slashes too; at most GLOB_CHOICES in all
 *   \x        x itself
 * Names that begin with a dot match only where the part of the pattern begins with a dot. `**` does not enter such
 * folders. Links are followed where a part other than `**` matches them. Bytes, not characters: no locale. */
#ifndef SVC_GLOB_H
#define SVC_GLOB_H

#include <stddef.h>

#define GLOB_CHOICES 1024
#define GLOB_PARTS 65536
#define GLOB_SIZE 4097 /* with the NUL */
#define GLOB_PART_SIZE 1024 /* of a part with wildcards */

/* Returns 1 when `name` matches one part of a pattern; takes at most size(name) * size(part) steps. (globmatch.c) */
int glob_match(const char *part, const char *name);

/* Returns all choices of `pattern` without braces, count in *count; the caller frees them. NULL with EINVAL or ENOMEM.
 * Braces without a comma or a partner are literal. (globbraces.c) */
char **glob_choices(const char *pattern, size_t *count);
void glob_choices_free(char **choices, size_t count);

enum glob_kind { GLOB_END, GLOB_NAME, GLOB_WILD, GLOB_DEEP };

struct glob_part {
	enum glob_kind kind;
	char *text;         /* GLOB_NAME: the name; GLOB_WILD: for glob_match */
};

/* All choices, each a run of parts that ends with GLOB_END; a position in it is the state of a match. (globparts.c) */
struct glob_parts {
	struct glob_part *at;
	size_t count;
	size_t *starts;
	size_t start_count;
	char *text;
};

/* Returns 0, or -1 with EINVAL or ENOMEM. */
int glob_compile(struct glob_parts *parts, const char *pattern);
void glob_free(struct glob_parts *parts);

#endif
