/* Unpacks an archive below a folder. All of it is hostile: it cannot lead out of the folder, and its devices, owners,
 * set-id bits and attributes are not applied. A file takes its name when all its content is there. An entry that cannot
 * be made is reported, and the next ones are unpacked; a damaged archive or a full disk ends the work. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"
#include "image/fault.h"
#include "image/tar.h"

#define NANOSECONDS 1000000000LL
#define PERMISSIONS 0777
/* What the owner needs to make files in a folder. */
#define WRITABLE 0300
#define ENTRIES_MAX 1000000
#define LATER_MAX 65536
/* The result is one message to the agent. */
#define REPORT_MAX (20 * 1024)

/* A folder that gets its mode at the end, because files follow that are made in it. */
struct later {
	char *path;
	mode_t mode;
};

struct unpacking {
	struct tar tar;
	struct tar_entry entry;
	struct file_below below;
	char name[NAME_MAX + 1];
	uint64_t bytes;
	uint32_t entries, files, folders, links, failed, left_out, reported;
	struct file_bytes report;
	struct later *later;
	size_t later_count, later_room;
	bool has_made_root;
};

static struct unpacking u;

static int fail_with(int error)
{
	errno = error;
	return -1;
}

/* ---- report */

static void report(int error, int is_left_out)
{
	size_t size = strlen(u.entry.path);

	if (is_left_out)
		u.left_out++;
	else
		u.failed++;
	if (u.report.size + size + 9 > REPORT_MAX)
		return;
	u.reported++;
	file_put_u8(&u.report, is_left_out ? 1 : 0);
	file_put_u32(&u.report, (uint32_t)error);
	file_put_str(&u.report, u.entry.path, size);
}

/* `error`: what ended the work before the end of the archive, 0 for nothing, EBADMSG for the archive itself. */
static _Noreturn void finish(int error)
{
	struct file_bytes result = { 0 };

	file_put_u32(&result, (uint32_t)error);
	file_put_u64(&result, u.bytes);
	file_put_u32(&result, u.files);
	file_put_u32(&result, u.folders);
	file_put_u32(&result, u.links);
	file_put_u32(&result, u.failed);
	file_put_u32(&result, u.left_out);
	file_put_u32(&result, u.reported);
	file_put_bytes(&result, u.report.at, u.report.size);
	file_finish(&result);
}

/* The next entries would fail in the same way. */
static int is_fatal(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO || error == ENOMEM || error == EMFILE ||
	       error == E2BIG;
}

/* ---- entries: each returns 0 or -1 with errno */

static void set_mode_later(mode_t mode)
{
	char *path = strdup(u.entry.path);

	if (u.later_count == LATER_MAX)
		finish(E2BIG);
	if (u.later_count == u.later_room) {
		u.later_room = u.later_room ? u.later_room * 2 : 64;
		u.later = file_more(u.later, u.later_room * sizeof(*u.later));
	}
	if (!path)
		finish(ENOMEM);
	u.later[u.later_count++] = (struct later){ path, mode };
}

static int change_mode(const char *name, mode_t mode)
{
	int fd = openat(u.below.dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int status = fd < 0 ? -1 : fchmod(fd, mode);
	int error = errno;

	if (fd >= 0)
		close(fd);
	return status ? fail_with(error) : 0;
}

/* A folder that exists keeps its mode. */
static int make_folder(void)
{
	mode_t mode = u.entry.mode & PERMISSIONS, now = mode | WRITABLE;
	const char *name = *u.name ? u.name : ".";
	struct stat facts;

	u.folders++;
	if (*u.name && mkdirat(u.below.dir, name, now)) {
		if (errno != EEXIST || fstatat(u.below.dir, name, &facts, AT_SYMLINK_NOFOLLOW))
			return -1;
		return S_ISDIR(facts.st_mode) ? 0 : fail_with(EEXIST);
	}
	if (!*u.name && (!u.has_made_root || change_mode(name, now)))
		return u.has_made_root ? -1 : 0;
	if (now != mode)
		set_mode_later(mode);
	return 0;
}

static void set_time(int fd)
{
	int64_t rest = u.entry.mtime_ns % NANOSECONDS;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	rest += rest < 0 ? NANOSECONDS : 0;
	times[1] = (struct timespec){ .tv_sec = (u.entry.mtime_ns - rest) / NANOSECONDS, .tv_nsec = rest };
	futimens(fd, times);
}

/* A file that cannot take its content still passes over it, to the next header. */
static int take_content(int fd)
{
	const uint8_t *part = NULL;
	int64_t size;
	int error = 0;

	while ((size = tar_content(&u.tar, &part)) > 0)
		if (!error && file_write_whole(fd, part, (size_t)size))
			error = errno;
	if (size < 0)
		finish(EBADMSG);
	return error ? fail_with(error) : 0;
}

static int make_file(void)
{
	struct stat old;
	int has_old = fstatat(u.below.dir, u.name, &old, AT_SYMLINK_NOFOLLOW) == 0;
	int fd, status, error;

	if (has_old && S_ISDIR(old.st_mode))
		return fail_with(EISDIR);
	fd = file_temp_open(u.below.dir);
	if (fd < 0)
		return -1;
	status = take_content(fd);
	if (status == 0)
		status = file_dress(fd, has_old && S_ISREG(old.st_mode) ? &old : NULL, u.entry.mode & PERMISSIONS);
	if (status == 0) {
		set_time(fd);
		status = file_temp_commit(u.name);
	}
	error = errno;
	close(fd);
	if (status) {
		file_temp_discard();
		return fail_with(error);
	}
	u.files++;
	u.bytes += u.entry.size;
	return 0;
}

/* A name that is taken is free afterwards, unless a folder has it. */
static int make_room(void)
{
	if (unlinkat(u.below.dir, u.name, 0) == 0)
		return 0;
	return errno == EISDIR || errno == EPERM ? fail_with(EEXIST) : -1;
}

static int make_link(void)
{
	if (symlinkat(u.entry.target, u.below.dir, u.name)) {
		if (errno != EEXIST || make_room() || symlinkat(u.entry.target, u.below.dir, u.name))
			return -1;
	}
	u.links++;
	return 0;
}

static int link_from(int dir, const char *other)
{
	struct stat facts, same;

	if (linkat(dir, other, u.below.dir, u.name, 0) == 0)
		return 0;
	if (errno != EEXIST || fstatat(dir, other, &facts, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (fstatat(u.below.dir, u.name, &same, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (same.st_dev == facts.st_dev && same.st_ino == facts.st_ino)
		return 0;
	return make_room() || linkat(dir, other, u.below.dir, u.name, 0) ? -1 : 0;
}

/* The other name must be below the root, and is not followed when it is a link. */
static int make_hard_link(void)
{
	char other[NAME_MAX + 1];
	int dir, status, error;

	if (file_below_find(&u.below, u.entry.target, 0, other))
		return -1;
	if (!*other)
		return fail_with(EINVAL);
	dir = fcntl(u.below.dir, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return -1;
	status = file_below_find(&u.below, u.entry.path, 1, u.name) || link_from(dir, other);
	error = errno;
	close(dir);
	u.links += !status;
	return status ? fail_with(error) : 0;
}

static int make(void)
{
	if (file_below_find(&u.below, u.entry.path, 1, u.name))
		return -1;
	if (u.entry.type == TAR_FOLDER)
		return make_folder();
	if (!*u.name)
		return fail_with(EINVAL);
	switch (u.entry.type) {
	case TAR_FILE:
		return make_file();
	case TAR_LINK:
		return make_link();
	case TAR_HARD_LINK:
		return make_hard_link();
	default:
		report(ENODEV, 1);
		return 0;
	}
}

static void set_modes(void)
{
	while (u.later_count > 0) {
		const struct later *later = &u.later[--u.later_count];

		if (file_below_find(&u.below, later->path, 0, u.name) == 0 && change_mode(*u.name ? u.name : ".", later->mode) == 0)
			continue;
		u.entry.path = later->path;
		report(errno, 0);
	}
}

static int open_root(const char *path)
{
	struct file_place place;
	int fd = file_open(path, O_PATH | O_DIRECTORY);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (file_place_at(&place, AT_FDCWD, path, 1) || file_place_follow(&place))
		return -1;
	u.has_made_root = mkdirat(place.dir, place.name, 0755) == 0;
	if (!u.has_made_root && errno != EEXIST)
		return -1;
	return file_open_at(place.dir, place.name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

_Noreturn void file_unpack(const struct file_op *op, int in_fd)
{
	int more;

	u.below.root = u.below.dir = open_root(op->path);
	if (u.below.root < 0)
		file_refuse(errno);
	fcntl(in_fd, F_SETPIPE_SZ, 1 << 20);
	tar_open(&u.tar, in_fd);
	while ((more = tar_next(&u.tar, &u.entry)) > 0) {
		if (++u.entries > ENTRIES_MAX)
			finish(E2BIG);
		if (make() == 0)
			continue;
		if (is_fatal(errno))
			finish(errno);
		report(errno, 0);
	}
	/* When the agent dies, the pipe ends before this process gets its signal: nobody waits for the report. */
	if (more < 0 && file_parent_gone())
		file_quit();
	if (more < 0)
		finish(EBADMSG);
	set_modes();
	finish(0);
}
