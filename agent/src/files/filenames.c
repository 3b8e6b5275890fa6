/* The names in one folder, sorted by bytes. A hostile folder may hold millions: only the smallest names are kept, as
 * many as the caller can use. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

/* While reading, entries are offsets into the text, which moves as it grows. */
struct reading {
	struct file_bytes text;
	size_t *at;
	size_t count, room, most;
	int dropped;
};

static int by_name(const void *left, const void *right, void *text)
{
	return strcmp((const char *)text + *(const size_t *)left + 1, (const char *)text + *(const size_t *)right + 1);
}

static void sort(struct reading *r)
{
	if (r->count > 1)
		qsort_r(r->at, r->count, sizeof(*r->at), by_name, r->text.at);
}

static void append(struct file_bytes *text, const char *entry)
{
	size_t size = 1 + strlen(entry + 1) + 1;

	if (text->size + size > text->room) {
		text->room = (text->size + size) * 2;
		text->at = file_more(text->at, text->room);
	}
	memcpy(text->at + text->size, entry, size);
	text->size += size;
}

static void keep_smallest(struct reading *r)
{
	struct file_bytes kept = { 0 };

	if (r->count <= r->most)
		return;
	sort(r);
	r->dropped = 1;
	r->count = r->most;
	for (size_t i = 0; i < r->count; i++) {
		size_t start = kept.size;
		append(&kept, (const char *)r->text.at + r->at[i]);
		r->at[i] = start;
	}
	free(r->text.at);
	r->text = kept;
}

static void add(struct reading *r, const struct dirent *found)
{
	char entry[1 + NAME_MAX + 1];

	entry[0] = (char)found->d_type;
	memcpy(entry + 1, found->d_name, strnlen(found->d_name, NAME_MAX) + 1);
	entry[NAME_MAX + 1] = 0;
	if (r->count == r->room) {
		r->room = r->room ? r->room * 2 : 64;
		r->at = file_more(r->at, r->room * sizeof(*r->at));
	}
	r->at[r->count++] = r->text.size;
	append(&r->text, entry);
	if (r->count / 2 > r->most + 64)
		keep_smallest(r);
}

static int read_all(struct reading *r, DIR *folder)
{
	struct dirent *found;

	for (errno = 0; (found = readdir(folder)); errno = 0) {
		if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0)
			add(r, found);
	}
	return errno ? -1 : 0;
}

int file_names_read(struct file_names *names, int dir, size_t most)
{
	struct reading r = { .most = most };
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	int status, error;

	if (!folder) {
		error = errno;
		if (fd >= 0)
			close(fd);
		errno = error;
		return -1;
	}
	status = read_all(&r, folder);
	error = errno;
	closedir(folder);
	keep_smallest(&r);
	sort(&r);
	*names = (struct file_names){ .count = r.count, .text = (char *)r.text.at, .dropped = r.dropped };
	names->at = file_more(NULL, r.count * sizeof(*names->at));
	for (size_t i = 0; i < r.count; i++)
		names->at[i] = names->text + r.at[i];
	free(r.at);
	if (status)
		file_names_free(names);
	errno = error;
	return status;
}

void file_names_free(struct file_names *names)
{
	free(names->at);
	free(names->text);
	*names = (struct file_names){ 0 };
}
