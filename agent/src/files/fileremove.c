/* Removes a file or a tree of any depth, with few descriptors and never through a link. A mount is found before
 * anything in it is lost. Each folder is read once; only a folder that others keep filling is read again, a few
 * times. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

#define KEPT_OPEN 32
#define TRIES 16
#define DEPTH_MAX 1000000
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct level {
	DIR *folder;        /* NULL while a deep child is visited: found again by its `..` */
	dev_t dev;
	ino_t ino;
	char *name;         /* in the parent level */
	int tries;
};

struct removal {
	int dir;            /* holds the root of the tree */
	int by_force;
	struct level *levels;
	size_t depth, room;
};

static int fail_with(int error)
{
	errno = error;
	return -1;
}

static int above(struct removal *r)
{
	return r->depth > 1 ? dirfd(r->levels[r->depth - 2].folder) : r->dir;
}

/* Keeps errno. */
static int is_folder(int dir, const char *name)
{
	int error = errno, status;
	struct stat facts;

	status = fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW);
	errno = error;
	return status == 0 && S_ISDIR(facts.st_mode);
}

/* Uses the descriptor's name in /proc where a folder cannot be opened: chmod by a name would follow a link. */
static int open_folder(const struct removal *r, int dir, const char *name)
{
	char path[64];
	int at;

	if (!r->by_force)
		return openat(dir, name, FOLDER);
	at = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	chmod(path, 0700);
	close(at);
	return openat(dir, name, FOLDER);
}

static int enter(struct removal *r, int dir, const char *name)
{
	struct stat facts;
	DIR *folder;
	int fd;

	if (r->depth == DEPTH_MAX)
		return fail_with(ELOOP);
	if (file_is_mount(dir, name))
		return fail_with(EBUSY);
	fd = open_folder(r, dir, name);
	if (fd < 0 || fstat(fd, &facts) || !(folder = fdopendir(fd))) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (r->depth == r->room) {
		r->room = r->room ? r->room * 2 : 16;
		r->levels = file_more(r->levels, r->room * sizeof(*r->levels));
	}
	r->levels[r->depth++] = (struct level){
		.folder = folder, .dev = facts.st_dev, .ino = facts.st_ino,
		.name = strcpy(file_more(NULL, strlen(name) + 1), name),
	};
	if (r->depth > KEPT_OPEN) {
		closedir(r->levels[r->depth - 2].folder);
		r->levels[r->depth - 2].folder = NULL;
	}
	return 0;
}

/* Opens the parent level again; it must be the folder that was left. */
static int reopen_above(struct removal *r)
{
	struct level *level = &r->levels[r->depth - 2];
	struct stat facts;
	int fd;

	if (r->depth < 2 || level->folder)
		return 0;
	fd = openat(dirfd(level[1].folder), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &facts) || facts.st_dev != level->dev || facts.st_ino != level->ino) {
		close(fd);
		return fail_with(EBUSY);
	}
	level->folder = fdopendir(fd);
	if (!level->folder)
		close(fd);
	return level->folder ? 0 : -1;
}

static int pop(struct removal *r)
{
	struct level *level = &r->levels[--r->depth];

	closedir(level->folder);
	free(level->name);
	return 0;
}

/* The innermost folder has been read to its end. If another file has its name by now, the next reading of the parent
 * finds that one. */
static int leave(struct removal *r)
{
	struct level *level = &r->levels[r->depth - 1];

	if (reopen_above(r))
		return -1;
	if (unlinkat(above(r), level->name, AT_REMOVEDIR) && errno != ENOENT) {
		if (errno == ENOTDIR && r->depth > 1)
			return pop(r);
		if ((errno != ENOTEMPTY && errno != EEXIST) || ++level->tries == TRIES)
			return -1;
		rewinddir(level->folder);
		return 0;
	}
	return pop(r);
}

/* A name may be replaced at any moment: the next reading finds what replaced it. */
static int remove_one(struct removal *r, int dir, const struct dirent *found)
{
	if (found->d_type != DT_DIR) {
		if (unlinkat(dir, found->d_name, 0) == 0 || errno == ENOENT)
			return 0;
		if (errno != EISDIR && errno != EPERM)
			return -1;
		if (!is_folder(dir, found->d_name))
			return errno == EISDIR ? 0 : -1;
	}
	return enter(r, dir, found->d_name) == 0 || errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

static int remove_content(struct removal *r)
{
	while (r->depth > 0) {
		DIR *folder = r->levels[r->depth - 1].folder;
		struct dirent *found;

		errno = 0;
		found = readdir(folder);
		if (!found && errno)
			return -1;
		if (!found) {
			if (leave(r))
				return -1;
		} else if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0) {
			if (remove_one(r, dirfd(folder), found))
				return -1;
		}
	}
	return 0;
}

static int remove_tree(struct removal *r, const char *name)
{
	int status, error;

	if (!is_folder(r->dir, name))
		return unlinkat(r->dir, name, 0);
	status = enter(r, r->dir, name) ? -1 : remove_content(r);
	error = errno;
	for (size_t i = 0; i < r->depth; i++) {
		if (r->levels[i].folder)
			closedir(r->levels[i].folder);
		free(r->levels[i].name);
	}
	free(r->levels);
	errno = error;
	return status;
}

int file_remove_tree(int dir, const char *name)
{
	struct removal r = { .dir = dir };

	return remove_tree(&r, name);
}

int file_remove_tree_by_force(int dir, const char *name)
{
	struct removal r = { .dir = dir, .by_force = 1 };

	return remove_tree(&r, name);
}

_Noreturn void file_remove(const struct file_op *op)
{
	struct file_place place;
	struct stat facts;
	int status;

	if (file_place_at(&place, AT_FDCWD, op->path, 0))
		file_refuse(errno);
	if (fstatat(place.dir, place.name, &facts, AT_SYMLINK_NOFOLLOW))
		file_refuse(errno);
	if (op->flag)
		status = file_remove_tree(place.dir, place.name);
	else
		status = unlinkat(place.dir, place.name, S_ISDIR(facts.st_mode) ? AT_REMOVEDIR : 0);
	if (status)
		file_refuse(errno == EEXIST ? ENOTEMPTY : errno);
	file_finish(NULL);
}
