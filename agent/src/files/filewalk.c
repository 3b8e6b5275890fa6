/* Walks a tree of any depth. The folders near the start stay open; a deeper one is found again by the `..` of its child
 * and must be the same folder as before: otherwise the tree was moved meanwhile, and the walk continues with the
 * nearest folder still open. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

#define KEPT_OPEN 32
#define LINKS_MAX 40

struct file_frame *file_walk_top(struct file_walk *walk)
{
	return &walk->frames[walk->depth - 1];
}

static struct file_frame *push(struct file_walk *walk, int fd, size_t path_size)
{
	struct stat facts;

	if (fstat(fd, &facts)) {
		close(fd);
		return NULL;
	}
	if (walk->depth == walk->room) {
		walk->room = walk->room ? walk->room * 2 : 16;
		walk->frames = file_more(walk->frames, walk->room * sizeof(*walk->frames));
	}
	walk->frames[walk->depth++] = (struct file_frame){
		.fd = fd, .dev = facts.st_dev, .ino = facts.st_ino, .path_size = path_size,
	};
	return file_walk_top(walk);
}

struct file_frame *file_walk_start(struct file_walk *walk, int fd, const char *path)
{
	size_t size = strlen(path);

	while (size > 0 && path[size - 1] == '/')
		size--;
	*walk = (struct file_walk){ .path_room = size + 1 + NAME_MAX + 1 };
	walk->path = file_more(NULL, walk->path_room);
	memcpy(walk->path, path, size);
	return push(walk, fd, size);
}

static void drop(struct file_frame *frame)
{
	if (frame->fd >= 0)
		close(frame->fd);
	file_names_free(&frame->names);
	free(frame->mark);
}

static int is_frame(int fd, const char *name, const struct file_frame *frame)
{
	struct stat facts;

	return fstatat(fd, name, &facts, 0) == 0 && facts.st_dev == frame->dev && facts.st_ino == frame->ino;
}

void file_walk_leave(struct file_walk *walk)
{
	struct file_frame *child = file_walk_top(walk);
	struct file_frame *frame = child - 1;

	if (walk->depth > 1 && frame->fd < 0 && child->fd >= 0) {
		frame->fd = openat(child->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (frame->fd >= 0 && !is_frame(frame->fd, ".", frame)) {
			close(frame->fd);
			frame->fd = -1;
		}
	}
	drop(child);
	walk->depth--;
}

static void set_path(struct file_walk *walk, const struct file_frame *frame, const char *name)
{
	size_t size = strlen(name);

	if (frame->path_size + 1 + size + 1 > walk->path_room) {
		walk->path_room = (frame->path_size + size + 2) * 2;
		walk->path = file_more(walk->path, walk->path_room);
	}
	walk->path[frame->path_size] = '/';
	memcpy(walk->path + frame->path_size + 1, name, size + 1);
}

const char *file_walk_next(struct file_walk *walk)
{
	while (walk->depth > 0) {
		struct file_frame *frame = file_walk_top(walk);

		if (frame->fd >= 0 && frame->next < frame->names.count) {
			const char *entry = frame->names.at[frame->next++];
			set_path(walk, frame, file_name_text(entry));
			return entry;
		}
		file_walk_leave(walk);
	}
	free(walk->frames);
	free(walk->path);
	return NULL;
}

static int links_to(const struct file_walk *walk)
{
	int links = 0;

	for (size_t i = 0; i < walk->depth; i++)
		links += walk->frames[i].by_link;
	return links;
}

/* A folder whose `..` cannot be read could be entered and not left. */
static void close_above(struct file_walk *walk)
{
	struct file_frame *child = file_walk_top(walk), *frame = child - 1;

	if (walk->depth > KEPT_OPEN && !child->by_link && is_frame(child->fd, "..", frame)) {
		close(frame->fd);
		frame->fd = -1;
	}
}

struct file_frame *file_walk_enter(struct file_walk *walk, const char *name, int follow)
{
	struct file_frame *frame = file_walk_top(walk);
	size_t path_size = frame->path_size + 1 + strlen(name);
	int fd = file_open_at(frame->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	int by_link = fd < 0 && follow && (errno == ENOTDIR || errno == ELOOP) && links_to(walk) < LINKS_MAX;

	if (by_link)
		fd = file_open_at(frame->fd, name, O_PATH | O_DIRECTORY);
	if (fd < 0 || !(frame = push(walk, fd, path_size)))
		return NULL;
	frame->by_link = by_link;
	close_above(walk);
	return file_walk_top(walk);
}
