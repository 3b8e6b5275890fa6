/* Finds the folder of an entry. The kernel resolves paths, below the root that confine() has set: nothing is judged by
 * its text but the names that no entry may have. The folder becomes the working folder, because the entries of an
 * archive mostly follow each other in one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/fault.h"
#include "image/image.h"
#include "image/records.h"

static char known[PATH_MAX];   /* the parent of the last entry, as the archive wrote it */
static bool is_known;
static char here[PATH_MAX + 1]; /* the working folder, as the kernel knows it */
static bool has_here;
static char joined[PATH_MAX + NAME_BYTES + 2];

void place_forget(void)
{
	is_known = false;
}

static int blocked(void)
{
	return refuse(errno == ELOOP ? "an entry lies behind links that lead in a circle"
				     : "an entry lies below a file");
}

const char *place_path(const char *name)
{
	/* The root of this process is "/" alone, so the text after it is the path within the layer. */
	if (!has_here && !getcwd(here, sizeof(here)))
		return NULL;
	has_here = true;
	snprintf(joined, sizeof(joined), "%s%s%s", here + 1, here[1] && *name ? "/" : "", name);
	return joined;
}

static int step(const char *name)
{
	has_here = false;
	return chdir(name);
}

static int make_implied(const char *name)
{
	struct record record = { .type = RECORD_FOLDER, .flags = RECORD_IMPLIED };

	if (strncmp(name, WHITEOUT, strlen(WHITEOUT)) == 0)
		return refuse("an entry has a name that is reserved for whiteouts");
	record.path = place_path(name);
	if (!record.path || strlen(record.path) > FOLDER_PATH_MAX)
		return refuse("an entry has a path that is too long");
	if (mkdir(name, 0755))
		return fail_system("make a folder");
	return records_add(&record, NULL);
}

/* A link that leads nowhere yet: its target is walked before the rest of the path. */
static int follow(const char *name, char *rest)
{
	char target[PATH_MAX], left[PATH_MAX];
	ssize_t size = readlink(name, target, sizeof(target) - 1);

	if (size <= 0) {
		errno = ENOTDIR;
		return blocked();
	}
	target[size] = '\0';
	strcpy(left, rest);
	if (snprintf(rest, PATH_MAX, "%s/%s", target, left) >= PATH_MAX)
		return refuse("an entry has a path that is too long");
	return target[0] == '/' ? step("/") : 0;
}

/* Walks name by name, and makes what is missing. `rest` has PATH_MAX bytes and is used up. */
static int walk(char *rest)
{
	int links = 0, steps = 0;

	while (*rest) {
		char name[NAME_BYTES + 1];
		size_t size = strcspn(rest, "/");

		if (size > NAME_BYTES || ++steps > 4 * DEPTH_MAX)
			return refuse("an entry has a name that is too long, or lies too deep");
		memcpy(name, rest, size);
		name[size] = '\0';
		memmove(rest, rest + size + (rest[size] == '/'), strlen(rest + size) + (rest[size] != '/'));
		if (size == 0 || step(name) == 0)
			continue;
		if (errno != ENOENT)
			return errno == ENOTDIR || errno == ELOOP ? blocked() : fail_system("enter a folder");
		if (faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
			if (make_implied(name))
				return -1;
			if (step(name))
				return fail_system("enter a folder");
			continue;
		}
		if (++links > LINKS_MAX) {
			errno = ELOOP;
			return blocked();
		}
		if (follow(name, rest))
			return -1;
	}
	return 0;
}

static int check_name(const char *name, size_t size)
{
	if (size > NAME_BYTES)
		return refuse("an entry has a name that is too long, or lies too deep");
	if (size == 2 && memcmp(name, "..", 2) == 0)
		return refuse("an entry leads out of the archive");
	return 0;
}

/* Copies the parent's path, and points at the last name. Blank parts and "." mean nothing. */
static int split(const char *path, char *parent, const char **name)
{
	static char last[NAME_BYTES + 1];
	size_t filled = 0, depth = 0, size;

	*last = '\0';
	for (const char *at = path; *at; at += size + (at[size] == '/')) {
		size = strcspn(at, "/");
		if (check_name(at, size))
			return -1;
		if (size == 0 || (size == 1 && *at == '.'))
			continue;
		if (*last) {
			if (++depth > DEPTH_MAX)
				return refuse("an entry has a name that is too long, or lies too deep");
			filled += (size_t)sprintf(parent + filled, "%s/", last);
		}
		memcpy(last, at, size);
		last[size] = '\0';
	}
	parent[filled] = '\0';
	*name = last;
	return 0;
}

static int check_depth(void)
{
	const char *path = place_path("");
	size_t depth = 0;

	if (!path || strlen(path) > FOLDER_PATH_MAX)
		return refuse("an entry has a path that is too long");
	for (const char *at = path; *at; at++)
		depth += *at == '/';
	return depth < DEPTH_MAX ? 0 : refuse("an entry has a name that is too long, or lies too deep");
}

int place_find(const char *path, const char **name)
{
	char parent[PATH_MAX];

	if (split(path, parent, name))
		return -1;
	place_forget();
	if (step("/") || (*parent && step(parent)))
		return refuse("an entry links to a file that is not in the archive");
	return 0;
}

int place_enter(const char *path, const char **name)
{
	char parent[PATH_MAX];

	if (split(path, parent, name))
		return -1;
	if (is_known && strcmp(parent, known) == 0)
		return 0;
	place_forget();
	strcpy(known, parent);
	if (step("/"))
		return fail_system("enter the root");
	if (*parent && step(parent) && (errno == ENOENT ? walk(parent) : blocked()))
		return -1;
	if (check_depth())
		return -1;
	is_known = true;
	return 0;
}
