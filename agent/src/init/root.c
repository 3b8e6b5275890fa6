/* Builds the root of a sandbox from the settings and moves into it. Meanwhile the old root is at /old and the new one
 * at /new of a small tmpfs; the last pivot removes both. Paths in the settings are host paths. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/init.h"

#define MEBIBYTE (1024 * 1024)
#define PATH_BYTES 4200

int mount_tmpfs(const char *path, uint64_t bytes, const char *mode)
{
	uint64_t files = bytes / 4096 < 1024 ? 1024 : bytes / 4096;
	char options[128];

	snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=%s", (unsigned long long)bytes,
		 (unsigned long long)files, mode);
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

/* Pivots onto a tmpfs, with the old root at /old. */
static int move_to_base(const struct settings *s)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return fail("make mounts private");
	if (mount_tmpfs("/tmp", settings_number(s, "root_bytes", MEBIBYTE), "0755") || chdir("/tmp"))
		return fail("mount a tmpfs");
	if (mkdir("old", 0755) || mkdir("new", 0755) || syscall(SYS_pivot_root, ".", "old") || chdir("/"))
		return fail("pivot_root");
	return 0;
}

static int make_links_and_folders(const struct settings *s)
{
	struct settings_pair link;
	char path[PATH_BYTES];
	const char *folder;
	size_t cursor = 0;

	while ((folder = settings_each(s, "dir", &cursor))) {
		snprintf(path, sizeof(path), "/new%s", folder);
		if (make_target(path, 1))
			return fail("make %s", folder);
	}
	cursor = 0;
	while (settings_pair(s, "link", &cursor, &link) > 0) {
		snprintf(path, sizeof(path), "/new%s", link.first);
		if (symlink(link.second, path))
			return fail("link %s", link.first);
	}
	return 0;
}

static int make_binds(const struct settings *s, const char *name)
{
	struct settings_pair bind;
	char source[PATH_BYTES], target[PATH_BYTES];
	struct stat facts;
	size_t cursor = 0;

	while (settings_pair(s, name, &cursor, &bind) > 0) {
		snprintf(source, sizeof(source), "/old%s", bind.second);
		snprintf(target, sizeof(target), "/new%s", bind.first);
		if (stat(source, &facts) || make_target(target, S_ISDIR(facts.st_mode)))
			return fail("show %s", bind.first);
		if (bind_read_only(source, target))
			return fail("show %s", bind.first);
	}
	return 0;
}

/* Assembles /new from the settings; paths that are not listed do not exist. Returns 1 when it is an image with private
 * changes on top. */
static int make_view(const struct settings *s)
{
	const char *image = settings_get(s, "overlay");
	int made = image ? root_image(s, image) : 0;

	if (made)
		return made;
	if (mount_tmpfs("/new", MEBIBYTE, "0755"))
		return fail("mount a tmpfs");
	return make_links_and_folders(s) || make_binds(s, "bind") ? -1 : 0;
}

/* The paths that a sandbox may write: tmpfs=<bytes>=<path>, share=<path>=<host folder>. */
static int make_writable(const struct settings *s)
{
	struct settings_pair place;
	char source[PATH_BYTES], path[PATH_BYTES];
	size_t cursor = 0;

	while (settings_pair(s, "tmpfs", &cursor, &place) > 0) {
		snprintf(path, sizeof(path), "/new%s", place.second);
		if (make_target(path, 1) || mount_tmpfs(path, strtoull(place.first, NULL, 10), "1777"))
			return fail("mount %s", place.second);
	}
	cursor = 0;
	while (settings_pair(s, "share", &cursor, &place) > 0) {
		snprintf(source, sizeof(source), "/old%s", place.second);
		snprintf(path, sizeof(path), "/new%s", place.first);
		if (make_target(path, 1) || mount(source, path, NULL, MS_BIND, NULL))
			return fail("mount %s", place.first);
		if (mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL))
			return fail("mount %s", place.first);
	}
	return 0;
}

/* Stacks old and new root at the same path, then unmounts the upper one: nothing of the old root stays.
 * pivot_root(2) */
static int enter(int is_writable)
{
	if (!is_writable) {
		if (mount(NULL, "/new", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
			return fail("make the root read-only");
	}
	if (chdir("/new") || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		return fail("enter the root");
	return 0;
}

int root_build(const struct settings *s)
{
	const char *name = settings_get(s, "hostname");
	int is_writable;

	if (name && sethostname(name, strlen(name)))
		return fail("host name");
	if (move_to_base(s))
		return -1;
	is_writable = make_view(s);
	if (is_writable < 0 || make_binds(s, "cover") || root_system(s, "/new", "/old") || make_writable(s))
		return -1;
	return enter(is_writable);
}
