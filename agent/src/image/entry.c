/* Makes one entry of a layer below the root, or notes it where it is not made: devices, whiteouts. Owners, times of
 * folders and links, capabilities and the set-uid bits are in the records alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/fault.h"
#include "image/image.h"
#include "image/records.h"

#define NANOSECONDS 1000000000LL
#define OPAQUE ".wh..wh..opq"
#define CREATE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

struct making {
	struct tar *tar;
	const struct tar_entry *entry;
	struct counts *counts;
	const char *name;
};

/* The owner can always read, link and remove what is in the store; the other bits are the archive's. */
static mode_t file_mode(const struct tar_entry *entry)
{
	return (entry->mode & 0777) | 0600;
}

static mode_t folder_mode(const struct tar_entry *entry)
{
	return (entry->mode & 01777) | 0700;
}

static int add_record(const struct making *making, enum record_type type, const char *path)
{
	struct record record = { .type = type, .path = path, .size = making->entry->size };

	if (!path || strlen(path) >= PATH_MAX)
		return refuse("an entry has a path that is too long");
	return records_add(&record, making->entry);
}

static int replace(const char *name)
{
	place_forget();
	return remove_name(AT_FDCWD, name);
}

/* A folder that was there, such as one that an earlier entry implied. */
static int change_mode(const char *name, mode_t mode)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int failed = fd < 0 || fchmod(fd, mode);

	if (fd >= 0)
		close(fd);
	return failed ? fail_system("change the mode of a folder") : 0;
}

static int remake_folder(const char *name, mode_t mode)
{
	if (replace(name))
		return -1;
	return mkdir(name, mode) ? fail_system("make a folder") : 0;
}

static int make_folder(const struct making *making)
{
	const char *name = *making->name ? making->name : ".";
	mode_t mode = folder_mode(making->entry);
	struct stat facts;

	making->counts->folders++;
	if (!*making->name || mkdir(name, mode)) {
		if (*making->name && errno != EEXIST)
			return fail_system("make a folder");
		if (lstat(name, &facts))
			return fail_system("make a folder");
		if (S_ISDIR(facts.st_mode) ? change_mode(name, mode) : remake_folder(name, mode))
			return -1;
	}
	return add_record(making, RECORD_FOLDER, place_path(making->name));
}

static int create(const struct making *making)
{
	int fd = open(making->name, CREATE, file_mode(making->entry));

	if (fd >= 0 || errno != EEXIST)
		return fd;
	return replace(making->name) ? -1 : open(making->name, CREATE, file_mode(making->entry));
}

static int write_content(struct tar *tar, int fd)
{
	const uint8_t *part = NULL;
	int64_t size;

	while ((size = tar_content(tar, &part)) > 0) {
		for (int64_t done = 0; done < size;) {
			ssize_t put = write(fd, part + done, (size_t)(size - done));

			if (put < 0 && errno == EFBIG)
				return beyond("a file is larger than allowed");
			if (put < 0 && errno != EINTR)
				return fail_system("write a file");
			done += put > 0 ? put : 0;
		}
	}
	return (int)size;
}

/* Interpreters compare the times of sources with those of what they compiled. */
static int set_time(int fd, int64_t mtime_ns)
{
	int64_t rest = mtime_ns % NANOSECONDS;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	rest += rest < 0 ? NANOSECONDS : 0;
	times[1] = (struct timespec){ .tv_sec = (mtime_ns - rest) / NANOSECONDS, .tv_nsec = rest };
	return futimens(fd, times) ? fail_system("set the time of a file") : 0;
}

static int make_file(const struct making *making)
{
	int fd = create(making), failed;

	if (fd < 0)
		return fail_system("make a file");
	failed = write_content(making->tar, fd) || set_time(fd, making->entry->mtime_ns);
	close(fd);
	making->counts->files++;
	making->counts->bytes += making->entry->size;
	return failed ? -1 : add_record(making, RECORD_FILE, place_path(making->name));
}

static int make_link(const struct making *making)
{
	const char *target = making->entry->target;
	struct record record = { .type = RECORD_LINK, .target = target };

	making->counts->links++;
	if (symlink(target, making->name)) {
		if (errno != EEXIST || replace(making->name) || symlink(target, making->name))
			return fail_system("make a link");
	}
	record.path = place_path(making->name);
	return record.path ? records_add(&record, making->entry) : refuse("an entry has a path that is too long");
}

/* Opens the file that a hard link names, which must have come before; `path` gets its path without links. */
static int find_target(const struct making *making, char *path, struct stat *facts)
{
	const char *name, *found;

	if (place_find(making->entry->target, &name))
		return -1;
	if (!*name || lstat(name, facts) || S_ISDIR(facts->st_mode))
		return refuse("an entry links to a file that is not in the archive");
	found = place_path(name);
	if (!found || strlen(found) >= PATH_MAX)
		return refuse("an entry has a path that is too long");
	strcpy(path, found);
	return 0;
}

/* Links may lead from one name of a file to another, so paths are compared by what they lead to. */
static int link_to(const char *from, const char *name, const struct stat *target)
{
	struct stat facts;

	if (linkat(AT_FDCWD, from, AT_FDCWD, name, 0) == 0)
		return 0;
	if (errno != EEXIST || lstat(name, &facts))
		return fail_system("make a hard link");
	if (facts.st_dev == target->st_dev && facts.st_ino == target->st_ino)
		return 0;
	if (replace(name))
		return -1;
	if (linkat(AT_FDCWD, from, AT_FDCWD, name, 0) == 0)
		return 0;
	return errno == ENOENT ? refuse("an entry links to a file that is not in the archive")
			       : fail_system("make a hard link");
}

static int make_hard_link(const struct making *making)
{
	struct record record = { .flags = RECORD_HARD_LINK };
	char target[PATH_MAX + 1] = "/";
	const char *name;
	struct stat facts;

	if (find_target(making, target + 1, &facts) || place_enter(making->entry->path, &name))
		return -1;
	if (link_to(target, name, &facts))
		return -1;
	making->counts->links++;
	record.type = S_ISLNK(facts.st_mode) ? RECORD_LINK : RECORD_FILE;
	record.path = place_path(name);
	record.target = target + 1;
	return record.path ? records_add(&record, making->entry) : refuse("an entry has a path that is too long");
}

static int note_device(const struct making *making)
{
	const struct tar_entry *entry = making->entry;
	struct record record = { .type = RECORD_PIPE };

	if (entry->type != TAR_PIPE) {
		record.type = entry->type == TAR_BLOCKS ? RECORD_BLOCKS : RECORD_CHARACTERS;
		record.size = (uint64_t)entry->major << 32 | entry->minor;
	}
	making->counts->devices++;
	if (replace(making->name))
		return -1;
	record.path = place_path(making->name);
	return record.path ? records_add(&record, entry) : refuse("an entry has a path that is too long");
}

static int note_whiteout(const struct making *making)
{
	const char *name = making->name + strlen(WHITEOUT);

	if (strcmp(making->name, OPAQUE) == 0) {
		making->counts->opaque++;
		return add_record(making, RECORD_OPAQUE, place_path(""));
	}
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, WHITEOUT, strlen(WHITEOUT)) == 0)
		return refuse("an entry has a name that is reserved for whiteouts");
	making->counts->whiteouts++;
	return add_record(making, RECORD_WHITEOUT, place_path(name));
}

int entry_make(struct tar *tar, const struct tar_entry *entry, struct counts *counts, uint64_t max_bytes)
{
	struct making making = { .tar = tar, .entry = entry, .counts = counts };

	if (entry->size > max_bytes - counts->bytes)
		return beyond("the archive holds more bytes than allowed");
	if (place_enter(entry->path, &making.name))
		return -1;
	if (strncmp(making.name, WHITEOUT, strlen(WHITEOUT)) == 0)
		return note_whiteout(&making);
	if (entry->type == TAR_FOLDER)
		return make_folder(&making);
	if (!*making.name)
		return refuse("the root of the archive is not a folder");
	switch (entry->type) {
	case TAR_FILE:
		return make_file(&making);
	case TAR_LINK:
		return make_link(&making);
	case TAR_HARD_LINK:
		return make_hard_link(&making);
	default:
		return note_device(&making);
	}
}
