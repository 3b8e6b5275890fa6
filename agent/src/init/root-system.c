/* /proc and /dev of a sandbox: new file systems that show its own namespaces, and six harmless device nodes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/init.h"
#include "init/launch.h"

static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const struct {
	const char *name, *target;
} links[] = {
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
	{ "ptmx", "pts/ptmx" },
};

static int mount_at(const char *root, const char *path, const char *type, unsigned long flags, const char *options)
{
	char target[512];

	snprintf(target, sizeof(target), "%s%s", root, path);
	if (make_target(target, 1) || mount(type, target, type, flags | MS_NOSUID, options))
		return fail("mount %s", path);
	return 0;
}

static int bind_nodes(const char *root, const char *old)
{
	char source[512], target[512];

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		snprintf(source, sizeof(source), "%s/dev/%s", old, nodes[i]);
		snprintf(target, sizeof(target), "%s/dev/%s", root, nodes[i]);
		if (make_target(target, 0) || mount(source, target, NULL, MS_BIND, NULL))
			return fail("show /dev/%s", nodes[i]);
	}
	return 0;
}

static int make_links(const char *root)
{
	char path[512];

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(path, sizeof(path), "%s/dev/%s", root, links[i].name);
		if (symlink(links[i].target, path))
			return fail("link /dev/%s", links[i].name);
	}
	return 0;
}

int root_system(const struct settings *s, const char *root, const char *old)
{
	/* Mode 0: nobody may write there. */
	const char *mode = settings_number(s, "shm_bytes", 1) ? "1777" : "0755";
	char shared[512], dev[512];

	snprintf(shared, sizeof(shared), "%s/dev/shm", root);
	snprintf(dev, sizeof(dev), "%s/dev", root);
	if (mount_at(root, "/proc", "proc", MS_NODEV | MS_NOEXEC, NULL) ||
	    mount_at(root, "/dev", "tmpfs", MS_NOEXEC, "mode=0755,size=64k,nr_inodes=64"))
		return -1;
	if (bind_nodes(root, old) || make_links(root))
		return -1;
	if (mount_at(root, "/dev/pts", "devpts", MS_NOEXEC, TERMINALS) || make_target(shared, 1))
		return -1;
	if (mount_tmpfs(shared, settings_number(s, "shm_bytes", 1024 * 1024), mode))
		return fail("mount /dev/shm");
	if (mount(NULL, dev, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL))
		return fail("make /dev read-only");
	return 0;
}
