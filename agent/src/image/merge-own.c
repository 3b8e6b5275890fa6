/* What is the tree's own: copies of files that have as many names as a file can have, and what every sandbox needs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/fault.h"
#include "image/image.h"
#include "image/origin.h"

#define CREATE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define PART (1024 * 1024 * 1024)

static const char *const mount_points[] = { "proc", "dev", "sys", "tmp", "run", "workspace", ".svc", "etc" };
/* Files of /etc that are of a sandbox, not of its image. */
static const struct {
	const char *name, *text;
} own_files[] = {
	{ "hosts", "127.0.0.1 localhost\n::1 localhost\n" },
	{ "hostname", "" },
	{ "resolv.conf", "" },
};

static int copy_link(int from, int to, const char *name)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(from, name, target, sizeof(target) - 1);

	if (size < 0)
		return -1;
	target[size] = '\0';
	return symlinkat(target, to, name);
}

/* Shares the blocks where the file system can. */
static int copy_content(int source, int target, const struct stat *facts)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, facts->st_mtim };
	ssize_t copied;

	while ((copied = copy_file_range(source, NULL, target, NULL, PART, 0)) > 0)
		continue;
	return copied < 0 || futimens(target, times) ? -1 : 0;
}

int copy_name(int from, int to, const char *name)
{
	struct stat facts;
	int source, target, failed;

	if (fstatat(from, name, &facts, AT_SYMLINK_NOFOLLOW))
		return fail_system("copy a file into the tree");
	if (S_ISLNK(facts.st_mode))
		return copy_link(from, to, name) ? fail_system("copy a link into the tree") : 0;
	source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	target = source < 0 ? -1 : openat(to, name, CREATE, facts.st_mode & 0777);
	failed = target < 0 || copy_content(source, target, &facts);
	if (failed)
		fail_system("copy a file into the tree");
	if (source >= 0)
		close(source);
	if (target >= 0)
		close(target);
	return failed ? -1 : 0;
}

/* Its inode may have been that of a folder which a layer removed. */
static int note_made(int tree, const char *name)
{
	struct record record = { .type = RECORD_FOLDER, .flags = RECORD_IMPLIED, .path = "" };

	return origin_note(&record, tree, name, 0);
}

/* An image may have a link or a file there, to wherever it likes. */
static int make_mount_point(int tree, const char *name)
{
	struct stat facts;

	if (mkdirat(tree, name, 0755) == 0)
		return note_made(tree, name);
	if (errno != EEXIST || fstatat(tree, name, &facts, AT_SYMLINK_NOFOLLOW))
		return fail_system("make a mount point");
	if (S_ISDIR(facts.st_mode))
		return 0;
	if (remove_name(tree, name))
		return -1;
	return mkdirat(tree, name, 0755) ? fail_system("make a mount point") : note_made(tree, name);
}

/* Removed first: writing would go through the hard link into the layer. */
static int make_file(int folder, const char *name, const char *text)
{
	int fd, failed;

	if (remove_name(folder, name))
		return -1;
	fd = openat(folder, name, CREATE, 0644);
	failed = fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return failed ? fail_system("make a file of the tree") : 0;
}

int merge_own(int tree)
{
	int folder, failed = 0;

	for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]); i++)
		if (make_mount_point(tree, mount_points[i]))
			return -1;
	folder = openat(tree, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return fail_system("open /etc of the tree");
	for (size_t i = 0; !failed && i < sizeof(own_files) / sizeof(own_files[0]); i++)
		failed = make_file(folder, own_files[i].name, own_files[i].text);
	close(folder);
	return failed;
}
