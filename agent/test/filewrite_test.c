/* Writing files: whole or not at all, what is kept of the old one, and no litter however it ends.
 * Built by files.mk. */
#include "file_harness.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/xattr.h>

static int written(const char *path, const char *text, uint32_t mode, int atomic)
{
	struct outcome o = run((struct file_op){ .kind = FILE_WRITE, .path = path, .mode = mode, .flag = 1 }, text, strlen(text));
	int error = o.type == 18 ? o.error : 0;

	CHECK(o.type != 0);
	if (o.type == 17)
		CHECK(o.result_size == 9 && number(o.result, 8) == strlen(text) && o.result[8] == atomic);
	forget(&o);
	return error;
}

static unsigned mode_of(const char *path)
{
	struct stat facts;

	return lstat(path, &facts) ? 0 : facts.st_mode & 07777;
}

static void test_new(void)
{
	char longest[256];

	umask(077);
	CHECK(written(in_home("/a/b/c/new"), "hello", KEEP, 1) == 0);
	umask(022);
	CHECK(holds(in_home("/a/b/c/new"), "hello"));
	CHECK(mode_of(in_home("/a/b/c/new")) == 0644);
	CHECK(mode_of(in_home("/a/b")) == 0755);
	CHECK(written(in_home("/special"), "x", 06711, 1) == 0);
	CHECK(mode_of(in_home("/special")) == 06711);
	CHECK(written(in_home("/none"), "", 0, 1) == 0);
	CHECK(mode_of(in_home("/none")) == 0);
	memset(longest, 'y', 255);
	longest[255] = 0;
	CHECK(written(in_home("/%s", longest), "long", KEEP, 1) == 0);
	CHECK(written(in_home("/%sz", longest), "long", KEEP, 1) == ENAMETOOLONG);
	CHECK(written(in_home("/a\n\xff/\x80"), "odd", KEEP, 1) == 0);
	CHECK(holds(in_home("/a\n\xff/\x80"), "odd"));
	CHECK(written(in_home("/x"), "x", 010000, 1) == EINVAL);
	CHECK(run_for_error((struct file_op){ .kind = FILE_WRITE, .path = in_home("/no/parents"), .mode = KEEP }) == ENOENT);
	CHECK(access(in_home("/no"), F_OK) != 0);
}

static void test_old(void)
{
	const char *path = in_home("/old");
	struct stat facts;

	put(path, "a longer text than the new one");
	CHECK(chown(path, 1234, 2345) == 0 && chmod(path, 04751) == 0);
	CHECK(written(path, "new", KEEP, 1) == 0);
	CHECK(holds(path, "new") && stat(path, &facts) == 0);
	CHECK(facts.st_uid == 1234 && facts.st_gid == 2345 && (facts.st_mode & 07777) == 04751);
	CHECK(written(path, "newer", 0600, 1) == 0);
	CHECK(holds(path, "newer") && mode_of(path) == 0600);
}

static void test_links(void)
{
	put(in_home("/target"), "old");
	mkdir(in_home("/folder"), 0755);
	CHECK(symlink("../target", in_home("/folder/one")) == 0);
	CHECK(symlink(in_home("/folder/one"), in_home("/two")) == 0);
	CHECK(written(in_home("/two"), "through", KEEP, 1) == 0);
	CHECK(holds(in_home("/target"), "through"));
	CHECK(mode_of(in_home("/two")) == 0777 && mode_of(in_home("/folder/one")) == 0777);
	CHECK(symlink("folder/made", in_home("/dangling")) == 0);
	CHECK(written(in_home("/dangling"), "made", KEEP, 1) == 0 && holds(in_home("/folder/made"), "made"));
	CHECK(symlink("nowhere/made", in_home("/lost")) == 0);
	CHECK(written(in_home("/lost"), "x", KEEP, 1) == ENOENT);
	CHECK(symlink("turn", in_home("/turn")) == 0);
	CHECK(written(in_home("/turn"), "x", KEEP, 1) == ELOOP);
	CHECK(symlink("folder", in_home("/to-folder")) == 0);
	CHECK(written(in_home("/to-folder"), "x", KEEP, 1) == EISDIR);
	CHECK(written(in_home("/to-folder/inside"), "in", KEEP, 1) == 0 && holds(in_home("/folder/inside"), "in"));
}

static void test_refused(void)
{
	CHECK(written("/", "x", KEEP, 1) == EISDIR);
	CHECK(written(in_home("/folder"), "x", KEEP, 1) == EISDIR);
	CHECK(written(in_home("/target/x"), "x", KEEP, 1) == ENOTDIR);
	mkfifo(in_home("/fifo"), 0644);
	CHECK(written(in_home("/fifo"), "x", KEEP, 0) == ENXIO);
	CHECK(written("/dev/full", "x", KEEP, 0) == ENOSPC);
}

static void test_in_place(void)
{
	char path[64];
	int fd;

	CHECK(written("/dev/null", "gone", 0600, 0) == 0);
	CHECK(mode_of("/dev/null") == 0666);
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)getpid());
	CHECK(written(path, "123", KEEP, 0) == 0 && holds(path, "123\n"));
	fd = open(in_home("/unlinked"), O_RDWR | O_CREAT, 0644);
	unlink(in_home("/unlinked"));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	CHECK(written(path, "kept", KEEP, 0) == 0);
	CHECK(pread(fd, path, sizeof(path), 0) == 4 && access(in_home("/unlinked (deleted)"), F_OK) != 0);
	close(fd);
}

/* The mounts are in a namespace of the child. */
static void with_mounts(void (*test)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		failures = 0;
		if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL))
			_exit(2);
		test();
		_exit(failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_mounted_name(void)
{
	put(in_home("/source"), "a long old content");
	put(in_home("/hosts"), "");
	CHECK(mount(in_home("/source"), in_home("/hosts"), "none", MS_BIND, NULL) == 0);
	CHECK(written(in_home("/hosts"), "127.0.0.1", 0640, 0) == 0);
	CHECK(holds(in_home("/source"), "127.0.0.1") && mode_of(in_home("/source")) == 0640);
	CHECK(litter() == 0);
}

static void test_read_only_folder(void)
{
	mkdir(in_home("/ro"), 0755);
	put(in_home("/ro/file"), "");
	CHECK(mount(in_home("/ro"), in_home("/ro"), "none", MS_BIND, NULL) == 0);
	CHECK(mount(in_home("/source"), in_home("/ro/file"), "none", MS_BIND, NULL) == 0);
	CHECK(mount("none", in_home("/ro"), "none", MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
	CHECK(written(in_home("/ro/file"), "through", KEEP, 0) == 0 && holds(in_home("/source"), "through"));
	CHECK(written(in_home("/ro/other"), "x", KEEP, 1) == EROFS);
}

static void test_full_disk(void)
{
	const size_t size = 4 << 20;
	char *body = calloc(1, size);
	struct outcome o;

	mkdir(in_home("/small"), 0755);
	CHECK(mount("none", in_home("/small"), "tmpfs", 0, "size=1m") == 0);
	put(in_home("/small/file"), "old");
	o = run((struct file_op){ .kind = FILE_WRITE, .path = in_home("/small/file"), .mode = KEEP }, body, size);
	CHECK(o.type == 18 && o.error == ENOSPC);
	forget(&o);
	CHECK(holds(in_home("/small/file"), "old") && litter() == 0);
	free(body);
}

static void test_unprivileged(void)
{
	CHECK(chmod(home, 0777) == 0);
	mkdir(in_home("/theirs"), 0755);
	put(in_home("/theirs/mine"), "old");
	put(in_home("/setuid"), "old");
	CHECK(chown(in_home("/theirs/mine"), 4321, 4321) == 0);
	CHECK(chmod(in_home("/setuid"), 06755) == 0);
	if (setresgid(4321, 4321, 4321) || setresuid(4321, 4321, 4321))
		_exit(2);
	CHECK(written(in_home("/theirs/mine"), "in place", KEEP, 0) == 0 && holds(in_home("/theirs/mine"), "in place"));
	CHECK(written(in_home("/theirs/new"), "x", KEEP, 1) == EACCES);
	CHECK(written(in_home("/setuid"), "x", KEEP, 1) == 0 && mode_of(in_home("/setuid")) == 0755);
}

static void wait_for_litter(void)
{
	for (int i = 0; i < 2000 && litter() == 0; i++)
		usleep(1000);
	CHECK(litter() == 1);
}

static void test_cancel(void)
{
	struct file_op op = { .kind = FILE_WRITE, .path = in_home("/target"), .mode = KEEP };
	struct running r = begin(&op);
	struct outcome o;

	put(in_home("/target"), "old");
	CHECK(write(r.in, "half", 4) == 4);
	wait_for_litter();
	kill(r.pid, SIGTERM);
	o = finish(r, NULL, 0);
	CHECK(o.type == 0 && litter() == 0 && holds(in_home("/target"), "old"));
	forget(&o);
}

/* The agent dies with its pipes: that end is not taken for the end of the content. */
static void test_parent_death(int nth)
{
	struct file_op op = { .kind = FILE_WRITE, .path = in_home("/target"), .mode = KEEP };
	pid_t agent = fork();

	if (agent == 0) {
		struct running r = begin(&op);
		if (write(r.in, "half", 4) != 4)
			_exit(1);
		while (litter() == 0)
			;
		usleep((useconds_t)nth * 100);
		raise(SIGKILL);
	}
	waitpid(agent, NULL, 0);
	for (int i = 0; i < 2000 && litter() > 0; i++)
		usleep(1000);
	CHECK(litter() == 0 && holds(in_home("/target"), "old"));
}

/* The target is swapped between file, link, folder and nothing during the write. */
static void test_swaps(void)
{
	const char *path = in_home("/swap"), *other = in_home("/other");
	pid_t swapper = fork();

	if (swapper == 0) {
		for (;;) {
			(void)!symlink("other", path);
			unlink(path);
			mkdir(path, 0755);
			rmdir(path);
			(void)!symlink("swap", path);
			unlink(path);
			close(open(path, O_CREAT | O_WRONLY, 0644));
			unlink(path);
			mkfifo(path, 0644);
			unlink(path);
		}
	}
	for (int i = 0; i < 500; i++) {
		struct outcome o = run((struct file_op){ .kind = FILE_WRITE, .path = path, .mode = KEEP }, "x", 1);
		CHECK(o.type == 17 || o.error == EISDIR || o.error == ELOOP || o.error == ENXIO || o.error == ENOENT);
		forget(&o);
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	CHECK(litter() == 0);
	shell("rm -rf %s %s", path, other);
}

static void test_large(void)
{
	const size_t size = 64 << 20;
	char *body = malloc(size);
	struct outcome o;

	for (size_t i = 0; i < size; i++)
		body[i] = (char)(i * 31 >> 3);
	o = run((struct file_op){ .kind = FILE_WRITE, .path = in_home("/large"), .mode = KEEP }, body, size);
	CHECK(o.type == 17 && number(o.result, 8) == size);
	forget(&o);
	o = run((struct file_op){ .kind = FILE_READ, .path = in_home("/large"), .length = TO_THE_END }, NULL, 0);
	CHECK(o.out.size == size && memcmp(o.out.at, body, size) == 0);
	forget(&o);
	free(body);
}

static int marked(const char *path, const char *prefix, char *entries, size_t size)
{
	struct outcome o = run((struct file_op){ .kind = FILE_WRITE, .path = path, .path2 = prefix, .mode = KEEP, .flag = 7,
		.attributes = (uint8_t *)entries, .attributes_size = size }, "text", 4);
	int error = o.type == 18 ? o.error : 0;

	CHECK(o.type != 0);
	forget(&o);
	return error;
}

/* Returns the number of attributes that stat tells, -1 for an error. */
static int told(const char *path, const char *prefix)
{
	struct outcome o = run((struct file_op){ .kind = FILE_STAT, .path = path, .path2 = prefix }, NULL, 0);
	size_t at = 4 + strlen(path) + 25;
	int count = -1;

	if (o.type == 17 && o.result_size >= at + 12) {
		CHECK(number(o.result + at, 4) == geteuid());
		count = (int)number(o.result + at + 8, 4);
	}
	forget(&o);
	return count;
}

static void test_attributes(void)
{
	static char two[] = "\1\0\0\0a\2\0\0\0bc\1\0\0\0d\0\0\0\0", cut[] = "\1\0\0\0a\7\0\0\0b", nul[] = "\1\0\0\0\0\1\0\0\0b";
	const char *path = in_home("/marked");
	char value[8];

	put(path, "old");
	if (setxattr(path, "user.other", "kept", 4, 0)) {
		fprintf(stderr, "filewrite: SKIPPED, no extended attributes here\n");
		return;
	}
	CHECK(marked(path, "user.x.", two, sizeof(two) - 1) == 0);
	CHECK(told(path, "user.x.") == 2 && told(path, "user.") == 3 && told(path, "user.y.") == 0);
	CHECK(getxattr(path, "user.x.a", value, sizeof(value)) == 2 && memcmp(value, "bc", 2) == 0);
	CHECK(marked(path, "user.x.", NULL, 0) == 0 && told(path, "user.x.") == 0);
	CHECK(getxattr(path, "user.other", value, sizeof(value)) == 4);
	CHECK(marked(path, "security.", two, sizeof(two) - 1) == EINVAL && told(path, "trusted.") == -1);
	CHECK(marked(path, "user.x.", cut, sizeof(cut) - 1) == EINVAL);
	CHECK(marked(path, "user.x.", nul, sizeof(nul) - 1) == EINVAL);
}

int main(void)
{
	settle();
	test_new();
	test_old();
	test_links();
	test_refused();
	test_in_place();
	test_attributes();
	test_large();
	test_cancel();
	for (int i = 0; i < 10; i++)
		test_parent_death(i);
	test_swaps();
	if (geteuid() == 0) {
		with_mounts(test_mounted_name);
		with_mounts(test_read_only_folder);
		with_mounts(test_full_disk);
		with_mounts(test_unprivileged);
	} else {
		fprintf(stderr, "filewrite: SKIPPED, not root: mounts, full disk, other owners\n");
	}
	CHECK(litter() == 0);
	return leave("filewrite");
}
