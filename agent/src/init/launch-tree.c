/* Stages the tree of an image for a sandbox with a uid of its own: the store's uid owns all files of a tree, and an
 * idmapped mount shows them as the sandbox's, which may then change its private copies. mount_setattr(2) */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/launch.h"

/* Linux 5.12; the same numbers on every architecture. */
#define OPEN_TREE_CALL 428
#define MOVE_MOUNT_CALL 429
#define MOUNT_SETATTR_CALL 442
#define CLONE_TREE (1 | O_CLOEXEC)
#define SOURCE_IS_EMPTY 4
#define PATH_IS_EMPTY 0x1000
#define ATTRIBUTES 0x7 /* read-only, no set-uid, no devices */
#define MAPPED 0x100000

struct attributes {
	uint64_t set, clear, propagation, user_namespace;
};

static int write_map(pid_t pid, const char *name, const char *text, int size)
{
	char path[64];
	int fd, failed;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	failed = write(fd, text, (size_t)size) != size;
	close(fd);
	return failed ? -1 : 0;
}

static int open_namespace(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Blocks until the parent is ready, or has died. */
static void keep_namespace(int ready, int done)
{
	char byte = unshare(CLONE_NEWUSER) ? 'F' : 'R';

	if (write(ready, &byte, 1) == 1 && byte == 'R' && read(done, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* A user namespace that maps `from` to `to` and nobody else; a process holds it until it is open here. */
static int map_namespace(uid_t from, uid_t to)
{
	int ready[2], done[2], fd = -1, size;
	char map[64], byte = 'F';
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) || pipe2(done, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(done[1]);
		keep_namespace(ready[1], done[0]);
	}
	close(ready[1]);
	close(done[0]);
	size = snprintf(map, sizeof(map), "%u %u 1", (unsigned)from, (unsigned)to);
	if (pid > 0 && read(ready[0], &byte, 1) == 1 && byte == 'R' && write_map(pid, "uid_map", map, size) == 0 &&
	    write_map(pid, "gid_map", map, size) == 0)
		fd = open_namespace(pid);
	close(ready[0]);
	close(done[1]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return fd;
}

static int set_attributes(int tree, const struct start *start, uid_t store)
{
	int space = start->drop ? map_namespace(store, start->uid) : -1;
	struct attributes mapped = { .set = ATTRIBUTES | MAPPED, .user_namespace = (uint64_t)space };
	struct attributes plain = { .set = ATTRIBUTES };
	int failed = 1;

	if (space >= 0) {
		failed = syscall(MOUNT_SETATTR_CALL, tree, "", PATH_IS_EMPTY, &mapped, sizeof(mapped)) != 0;
		close(space);
	}
	/* init reports that the sandbox cannot change the files. */
	return failed ? (int)syscall(MOUNT_SETATTR_CALL, tree, "", PATH_IS_EMPTY, &plain, sizeof(plain)) : 0;
}

int launch_stage_tree(const struct start *start, const char *source, const char *target)
{
	uid_t store = (uid_t)settings_number(start->settings, "tree_uid", 0);
	int tree = (int)syscall(OPEN_TREE_CALL, AT_FDCWD, source, CLONE_TREE);
	int failed;

	/* A kernel before 5.12. The runner makes it read-only. */
	if (tree < 0 && errno == ENOSYS)
		return mount(source, target, NULL, MS_BIND, NULL);
	if (tree < 0)
		return -1;
	failed = set_attributes(tree, start, store);
	if (failed && errno == ENOSYS)
		failed = 0;
	if (!failed)
		failed = (int)syscall(MOVE_MOUNT_CALL, tree, "", AT_FDCWD, target, SOURCE_IS_EMPTY);
	close(tree);
	return failed;
}
