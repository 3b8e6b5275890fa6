/* Copies a tree from one mount to another, for a move that rename(2) cannot do: content, mode, owner where allowed,
 * times; links stay links; holes and hard links become plain content. It does not cross into another file system. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files/filework.h"

/* Two descriptors a level; trees that people or build tools make are not deeper. */
#define DEPTH_MAX 200

struct copy {
	struct stat from_root, to_root; /* the folders at the top */
	int depth;
};

static int copy_thing(struct copy *copy, const struct file_place *from, int to_dir, const char *to);

static int fail_with(int error)
{
	errno = error;
	return -1;
}

static int same(const struct stat *left, const struct stat *right)
{
	return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/* Sets the owner before the mode, because changing it clears set-id bits. A foreign owner's set-id bits are not
 * copied. */
static int dress(int fd, const struct stat *facts)
{
	struct timespec times[2] = { facts->st_atim, facts->st_mtim };
	mode_t mode = facts->st_mode & MODE_BITS;

	if (fchown(fd, facts->st_uid, facts->st_gid))
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	if (fchmod(fd, mode))
		return -1;
	futimens(fd, times);
	return 0;
}

static int copy_file(const struct file_place *from, int to_dir, const char *to)
{
	int in = openat(from->dir, from->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int out = in < 0 ? -1 : openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat facts;
	int status = -1, error;

	if (out >= 0 && fstat(in, &facts) == 0)
		status = S_ISREG(facts.st_mode) ? 0 : fail_with(EBUSY);
	if (status == 0 && (file_copy_content(in, out) < 0 || dress(out, &facts)))
		status = -1;
	error = errno;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) && status == 0) {
		error = errno;
		status = -1;
	}
	errno = error;
	return status;
}

static int copy_link(const struct file_place *from, const struct stat *facts, int to_dir, const char *to)
{
	struct timespec times[2] = { facts->st_atim, facts->st_mtim };
	char target[PATH_MAX];
	ssize_t size = readlinkat(from->dir, from->name, target, sizeof(target) - 1);

	if (size < 0)
		return -1;
	target[size] = 0;
	if (symlinkat(target, to_dir, to))
		return -1;
	(void)!fchownat(to_dir, to, facts->st_uid, facts->st_gid, AT_SYMLINK_NOFOLLOW);
	utimensat(to_dir, to, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* FIFOs and sockets; a device only where the sandbox may create one. */
static int copy_node(const struct stat *facts, int to_dir, const char *to)
{
	if (mknodat(to_dir, to, facts->st_mode & (S_IFMT | 0777), facts->st_rdev))
		return -1;
	(void)!fchownat(to_dir, to, facts->st_uid, facts->st_gid, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* `to` may lie inside `from` when a file system is mounted twice: the copy would then contain itself without end. */
static int check_folder(struct copy *copy, int in, int out)
{
	struct stat from, to;

	if (fstat(in, &from) || fstat(out, &to))
		return -1;
	if (copy->depth == 1) {
		copy->from_root = from;
		copy->to_root = to;
	}
	if (from.st_dev != copy->from_root.st_dev || (copy->depth > 1 && file_is_mount(in, ".")))
		return fail_with(EXDEV);
	return same(&from, &copy->to_root) ? fail_with(EINVAL) : 0;
}

static int copy_content(struct copy *copy, int in, int out)
{
	struct file_names names;
	int status = 0;

	if (check_folder(copy, in, out) || file_names_read(&names, in, SIZE_MAX / 4))
		return -1;
	for (size_t i = 0; i < names.count && status == 0; i++) {
		struct file_place from = { .dir = in };

		strcpy(from.name, file_name_text(names.at[i]));
		status = copy_thing(copy, &from, out, from.name);
	}
	file_names_free(&names);
	return status;
}

static int copy_folder(struct copy *copy, const struct file_place *from, int to_dir, const char *to)
{
	int in = file_open_at(from->dir, from->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	int made = in < 0 ? -1 : mkdirat(to_dir, to, 0700);
	int out = made ? -1 : openat(to_dir, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int status = out < 0 ? -1 : copy_content(copy, in, out), error;
	struct stat facts;

	if (status == 0 && (fstat(in, &facts) || dress(out, &facts)))
		status = -1;
	error = errno;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	errno = error;
	return status;
}

static int copy_thing(struct copy *copy, const struct file_place *from, int to_dir, const char *to)
{
	struct stat facts;
	int status;

	if (file_cancelled())
		return fail_with(ECANCELED);
	if (fstatat(from->dir, from->name, &facts, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (S_ISREG(facts.st_mode))
		return copy_file(from, to_dir, to);
	if (S_ISLNK(facts.st_mode))
		return copy_link(from, &facts, to_dir, to);
	if (!S_ISDIR(facts.st_mode))
		return copy_node(&facts, to_dir, to);
	if (++copy->depth > DEPTH_MAX)
		return fail_with(ENAMETOOLONG);
	status = copy_folder(copy, from, to_dir, to);
	copy->depth--;
	return status;
}

int file_copy_tree(const struct file_place *from, int to_dir, const char *to)
{
	struct copy copy = { 0 };

	return copy_thing(&copy, from, to_dir, to);
}
