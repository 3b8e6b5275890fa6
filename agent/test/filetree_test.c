/* Listing, making, moving and removing, also of trees that are deep, wide, or change meanwhile.
 * Built by files.mk. */
#include "file_harness.h"

#include <sched.h>
#include <sys/mount.h>

#define DEEP 10000

static char listed[1 << 21];

/* The paths below home, separated by bars; checked against the result's count and truncated. */
static const char *list(const char *path, uint32_t depth, uint32_t limit, int truncated)
{
	struct outcome o = run((struct file_op){ .kind = FILE_LIST, .path = path, .depth = depth, .limit = limit }, NULL, 0);
	char *to = listed;
	uint32_t count = 0;

	CHECK(o.type == 17 && o.result_size == 5);
	for (size_t at = 0; at < o.out.size; count++) {
		size_t size = number(o.out.at + at, 4), skip = strlen(home);
		const char *from = (const char *)o.out.at + at + 4;

		if (size < skip || memcmp(from, home, skip) != 0)
			skip = 0;
		if ((size_t)(to - listed) + size + 2 < sizeof(listed))
			to += sprintf(to, "|%.*s", (int)(size - skip), from + skip);
		at += 4 + size + 1 + 4 + 8 + 8;
		at += 4 + number(o.out.at + at, 4);
	}
	*to = 0;
	if (o.type == 17)
		CHECK(number(o.result, 4) == count && o.result[4] == truncated);
	forget(&o);
	return listed;
}

static int list_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_LIST, .path = path, .depth = 1, .limit = 10 });
}

static int make(const char *path, uint32_t mode, int parents)
{
	return run_for_error((struct file_op){ .kind = FILE_MKDIR, .path = path, .mode = mode, .flag = (uint8_t)parents });
}

static int move(const char *from, const char *to)
{
	return run_for_error((struct file_op){ .kind = FILE_MOVE, .path = from, .path2 = to });
}

static int unmake(const char *path, int recursive)
{
	return run_for_error((struct file_op){ .kind = FILE_REMOVE, .path = path, .flag = (uint8_t)recursive });
}

static int change(const char *path, uint32_t mode)
{
	return run_for_error((struct file_op){ .kind = FILE_CHMOD, .path = path, .mode = mode });
}

static unsigned mode_of(const char *path)
{
	struct stat facts;

	return lstat(path, &facts) ? 0 : facts.st_mode & 07777;
}

static int there(const char *path)
{
	struct stat facts;

	return lstat(path, &facts) == 0;
}

static void test_list(void)
{
	shell("cd %s && mkdir -p l/b/c l/empty && touch l/a l/b/x l/b/c/y l/b.z l/.hidden 'l/n\nl' && ln -s b l/link"
	      " && printf '' > \"$(printf 'l/\\377')\"", home);
	CHECK(strcmp(list(in_home("/l"), 1, 100, 0), "|/l/.hidden|/l/a|/l/b|/l/b.z|/l/empty|/l/link|/l/n\nl|/l/\xff") == 0);
	CHECK(strcmp(list(in_home("/l"), 2, 100, 0),
		     "|/l/.hidden|/l/a|/l/b|/l/b/c|/l/b/x|/l/b.z|/l/empty|/l/link|/l/n\nl|/l/\xff") == 0);
	CHECK(strstr(list(in_home("/l"), 3, 100, 0), "|/l/b|/l/b/c|/l/b/c/y|/l/b/x|") != NULL);
	CHECK(strcmp(list(in_home("/l"), 3, 4, 1), "|/l/.hidden|/l/a|/l/b|/l/b/c") == 0);
	CHECK(strcmp(list(in_home("/l"), 1, 8, 0), list(in_home("/l"), 1, 9, 0)) == 0);
	CHECK(strcmp(list(in_home("/l"), 1, 0, 1), "") == 0);
	CHECK(strcmp(list(in_home("/l/link"), 1, 10, 0), "|/l/link/c|/l/link/x") == 0);
	CHECK(strcmp(list(in_home("/l/a"), 1, 10, 0), "|/l/a") == 0);
	CHECK(strcmp(list(in_home("/l/empty"), 5, 10, 0), "") == 0);
	CHECK(strstr(list("/", 1, 1000, 0), "|/tmp|") != NULL);
	CHECK(list_error(in_home("/none")) == ENOENT);
	CHECK(list_error(in_home("/l/a/x")) == ENOTDIR);
}

static void test_wide(void)
{
	uint32_t count = 1;

	mkdir(in_home("/wide"), 0755);
	for (int i = 0; i < 5000; i++)
		put(in_home("/wide/file-%05d", (i * 7919) % 5000), "");
	list(in_home("/wide"), 1, 50000, 0);
	for (const char *at = listed; (at = strchr(at + 1, '|')); count++)
		CHECK(strncmp(at - 5, at + strlen("|/wide/file-"), 5) < 0);
	CHECK(count == 5000 && strncmp(listed, "|/wide/file-00000|/wide/file-00001|", 35) == 0);
	CHECK(strcmp(list(in_home("/wide"), 1, 2, 1), "|/wide/file-00000|/wide/file-00001") == 0);
	list(in_home("/wide"), 1, 4999, 1);
	list(in_home("/wide"), 1, 5000, 0);
	CHECK(unmake(in_home("/wide"), 0) == ENOTEMPTY);
	CHECK(unmake(in_home("/wide"), 1) == 0 && !there(in_home("/wide")));
}

static void dig(const char *path)
{
	int dir, next;

	mkdir(path, 0755);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < DEEP; i++) {
		mkdirat(dir, "d", 0755);
		if (i % 100 == 0)
			close(openat(dir, "file", O_CREAT | O_WRONLY, 0644));
		next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
		close(dir);
		dir = next;
	}
	CHECK(dir >= 0);
	close(dir);
}

/* The files after the deep part are found on the way back up. */
static void test_deep(void)
{
	struct outcome o;

	dig(in_home("/deep"));
	put(in_home("/deep/d/z"), "");
	o = run((struct file_op){ .kind = FILE_LIST, .path = in_home("/deep"), .depth = UINT32_MAX, .limit = UINT32_MAX }, NULL, 0);
	CHECK(o.type == 17 && number(o.result, 4) == DEEP + DEEP / 100 + 1 && o.result[4] == 0);
	forget(&o);
	CHECK(unmake(in_home("/deep"), 1) == 0 && !there(in_home("/deep")));
}

static void test_mkdir(void)
{
	umask(077);
	CHECK(make(in_home("/m/n/o"), KEEP, 1) == 0);
	umask(022);
	CHECK(mode_of(in_home("/m")) == 0755 && mode_of(in_home("/m/n/o")) == 0755);
	CHECK(make(in_home("/m/n/o"), 0700, 1) == 0 && mode_of(in_home("/m/n/o")) == 0755);
	CHECK(make(in_home("/m/n/o"), KEEP, 0) == EEXIST);
	CHECK(make(in_home("/m/x/y"), KEEP, 0) == ENOENT);
	CHECK(make(in_home("/m/special"), 03705, 0) == 0 && mode_of(in_home("/m/special")) == 03705);
	CHECK(make(in_home("/m/shut"), 0, 0) == 0 && mode_of(in_home("/m/shut")) == 0);
	CHECK(make("/", KEEP, 1) == 0 && make("/", KEEP, 0) == EEXIST);
	put(in_home("/m/file"), "");
	CHECK(make(in_home("/m/file"), KEEP, 1) == EEXIST && make(in_home("/m/file/x"), KEEP, 1) == ENOTDIR);
	CHECK(symlink("n", in_home("/m/link")) == 0 && make(in_home("/m/link"), KEEP, 1) == 0);
	CHECK(make(in_home("/m/link/new"), KEEP, 1) == 0 && there(in_home("/m/n/new")));
	CHECK(symlink("nowhere", in_home("/m/lost")) == 0 && make(in_home("/m/lost"), KEEP, 1) == EEXIST);
	CHECK(make(in_home("/m/bad"), 010000, 0) == EINVAL);
}

static void test_chmod(void)
{
	put(in_home("/c"), "");
	CHECK(symlink("c", in_home("/to-c")) == 0);
	CHECK(change(in_home("/to-c"), 04711) == 0 && mode_of(in_home("/c")) == 04711);
	CHECK(change(in_home("/none"), 0644) == ENOENT);
	CHECK(change(in_home("/c"), 010000) == EINVAL && change(in_home("/c"), KEEP) == EINVAL);
}

static void test_remove(void)
{
	shell("cd %s && mkdir -p r/a/b r/e && touch r/a/b/f r/g keep && ln -s ../keep r/a/link && ln -s .. r/up"
	      " && mkfifo r/fifo && ln -s r/a to-a", home);
	CHECK(unmake(in_home("/r"), 0) == ENOTEMPTY);
	CHECK(unmake(in_home("/r/e"), 0) == 0 && !there(in_home("/r/e")));
	CHECK(unmake(in_home("/r/g"), 0) == 0 && !there(in_home("/r/g")));
	CHECK(unmake(in_home("/r/up"), 1) == 0 && there(in_home("/keep")));
	CHECK(unmake(in_home("/to-a"), 1) == 0 && there(in_home("/r/a/b/f")));
	CHECK(unmake(in_home("/none"), 1) == ENOENT && unmake(in_home("/none"), 0) == ENOENT);
	CHECK(unmake(in_home("/r"), 1) == 0 && !there(in_home("/r")) && there(in_home("/keep")));
	CHECK(unmake("/", 1) == EBUSY && unmake("/", 0) == EBUSY);
	CHECK(unmake(in_home("/keep/.."), 1) == EINVAL && unmake(in_home("/."), 1) == EINVAL);
}

static void test_move(void)
{
	put(in_home("/old"), "moved");
	put(in_home("/there"), "there");
	mkdir(in_home("/box"), 0755);
	CHECK(move(in_home("/old"), in_home("/box/new")) == 0 && holds(in_home("/box/new"), "moved"));
	CHECK(move(in_home("/box/new"), in_home("/there")) == 0 && holds(in_home("/there"), "moved"));
	CHECK(move(in_home("/none"), in_home("/x")) == ENOENT);
	CHECK(move(in_home("/there"), in_home("/none/x")) == ENOENT);
	CHECK(move(in_home("/there"), in_home("/box")) == EISDIR);
	CHECK(move(in_home("/box"), in_home("/there")) == ENOTDIR);
	CHECK(move(in_home("/box"), in_home("/box/inside")) == EINVAL);
}

/* A folder is swapped with a link to a protected one while its tree is removed and listed. */
static void test_swaps(void)
{
	pid_t swapper;

	shell("mkdir -p %s/safe/a/b && touch %s/safe/a/b/f", home, home);
	swapper = fork();
	if (swapper == 0) {
		for (;;) {
			mkdir(in_home("/s"), 0755);
			mkdir(in_home("/s/a"), 0755);
			mkdir(in_home("/s/a/b"), 0755);
			close(open(in_home("/s/a/b/f"), O_CREAT | O_WRONLY, 0644));
			rename(in_home("/s/a"), in_home("/s/c"));
			(void)!symlink("../safe/a", in_home("/s/a"));
			rename(in_home("/s/c/b"), in_home("/s/b"));
			unlink(in_home("/s/a"));
		}
	}
	for (int i = 0; i < 500; i++) {
		int error = unmake(in_home("/s"), 1);
		CHECK(error == 0 || error == ENOENT || error == ENOTEMPTY || error == EBUSY);
		error = run_for_error((struct file_op){ .kind = FILE_LIST, .path = in_home("/s"), .depth = 9, .limit = 99 });
		CHECK(error == 0 || error == ENOENT);
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	CHECK(there(in_home("/safe/a/b/f")));
	CHECK(unmake(in_home("/s"), 1) == 0 || !there(in_home("/s")));
}

/* Deep folders leave the tree while their descriptors are not held: nothing outside is removed, nothing hangs. */
static void test_deep_swaps(void)
{
	char path[4096];
	size_t size = (size_t)snprintf(path, sizeof(path), "%s/ds", home);
	pid_t swapper;

	for (int i = 0; i < 60; i++)
		size += (size_t)sprintf(path + size, "/d");
	mkdir(in_home("/out"), 0755);
	swapper = fork();
	if (swapper == 0) {
		char middle[4096];

		snprintf(middle, sizeof(middle), "%s/ds", home);
		for (int i = 0; i < 45; i++)
			strcat(middle, "/d");
		for (;;) {
			rename(middle, in_home("/out/d"));
			rename(in_home("/out/d"), middle);
		}
	}
	for (int i = 0; i < 100; i++) {
		int error;

		shell("mkdir -p %s 2>/dev/null || true", path);
		error = run_for_error((struct file_op){ .kind = FILE_LIST, .path = in_home("/ds"), .depth = 99, .limit = 999 });
		CHECK(error == 0);
		error = unmake(in_home("/ds"), 1);
		CHECK(error == 0 || error == ENOENT || error == ENOTEMPTY || error == EBUSY);
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	CHECK(there(in_home("/out")));
}

static void with_mounts(void (*test)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		failures = 0;
		if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL))
			_exit(2);
		mkdir(in_home("/disk"), 0755);
		if (mount("none", in_home("/disk"), "tmpfs", 0, "size=2m"))
			_exit(2);
		test();
		_exit(failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_move_between_mounts(void)
{
	struct stat facts;

	shell("cd %s && mkdir -p t/sub/empty t/shut && echo -n one > t/sub/1 && ln -s sub/1 t/link && mkfifo t/fifo"
	      " && chown 77:88 t/sub/1 && chmod 04750 t/sub/1 && chmod 0500 t/shut && touch -d @1600000000 t/sub", home);
	CHECK(move(in_home("/t"), in_home("/disk/t")) == 0 && !there(in_home("/t")));
	CHECK(holds(in_home("/disk/t/link"), "one") && mode_of(in_home("/disk/t/shut")) == 0500);
	CHECK(stat(in_home("/disk/t/sub/1"), &facts) == 0 && facts.st_uid == 77 && facts.st_gid == 88);
	CHECK((facts.st_mode & 07777) == 04750);
	CHECK(stat(in_home("/disk/t/sub"), &facts) == 0 && facts.st_mtime == 1600000000);
	CHECK(lstat(in_home("/disk/t/fifo"), &facts) == 0 && S_ISFIFO(facts.st_mode));

	put(in_home("/single"), "single");
	CHECK(move(in_home("/single"), in_home("/disk/single")) == 0 && holds(in_home("/disk/single"), "single"));
	CHECK(!there(in_home("/single")));
	put(in_home("/single"), "again");
	CHECK(move(in_home("/single"), in_home("/disk/t")) == EISDIR);
	CHECK(move(in_home("/disk/t"), in_home("/single")) == ENOTDIR);
	CHECK(move(in_home("/single"), in_home("/disk/none/x")) == ENOENT);
	CHECK(move(in_home("/single"), in_home("/disk/single")) == 0 && holds(in_home("/disk/single"), "again"));
	mkdir(in_home("/u"), 0755);
	CHECK(move(in_home("/u"), in_home("/disk/t")) == ENOTEMPTY && there(in_home("/u")));
	mkdir(in_home("/disk/e"), 0755);
	put(in_home("/u/f"), "f");
	CHECK(move(in_home("/u"), in_home("/disk/e")) == 0 && holds(in_home("/disk/e/f"), "f"));
	CHECK(litter() == 0);
}

static void test_move_refused(void)
{
	CHECK(mkdir(in_home("/big"), 0755) == 0);
	shell("cd %s && head -c 1000000 /dev/zero > big/1; head -c 3000000 /dev/zero > big/2; touch big/0", home);
	CHECK(move(in_home("/big"), in_home("/disk/big")) == ENOSPC);
	CHECK(there(in_home("/big/0")) && !there(in_home("/disk/big")) && litter() == 0);
	put(in_home("/disk/file"), "stays");
	CHECK(move(in_home("/disk"), in_home("/elsewhere")) == EBUSY && holds(in_home("/disk/file"), "stays"));
	CHECK(unmake(in_home("/disk"), 1) == EBUSY && holds(in_home("/disk/file"), "stays"));
	shell("cd %s && mkdir -p with/in && mount --bind disk with/in", home);
	CHECK(unmake(in_home("/with"), 1) == EBUSY && holds(in_home("/disk/file"), "stays"));
	mkdir(in_home("/other"), 0755);
	CHECK(mount("none", in_home("/other"), "tmpfs", 0, NULL) == 0);
	CHECK(move(in_home("/with"), in_home("/other/with")) == EXDEV);
	CHECK(holds(in_home("/with/in/file"), "stays") && !there(in_home("/other/with")) && litter() == 0);
	shell("umount %s/with/in", home);
}

/* One file system mounted twice: the new name is inside the old one, or the same file. */
static void test_move_into_itself(void)
{
	shell("cd %s && mkdir -p real/tree/in twice && echo -n x > real/tree/f && mount --bind real twice", home);
	CHECK(move(in_home("/real/tree"), in_home("/twice/tree/in/new")) == EINVAL);
	CHECK(move(in_home("/real/tree"), in_home("/twice/tree/new")) == EINVAL);
	CHECK(move(in_home("/real/tree"), in_home("/twice/tree")) == 0);
	CHECK(move(in_home("/real/tree/f"), in_home("/twice/tree/f")) == 0);
	CHECK(holds(in_home("/real/tree/f"), "x") && litter() == 0);
	CHECK(move(in_home("/real/tree"), in_home("/twice/other")) == 0 && holds(in_home("/real/other/f"), "x"));
	dig(in_home("/deep-move"));
	CHECK(move(in_home("/deep-move"), in_home("/disk/d")) == ENAMETOOLONG);
	CHECK(there(in_home("/deep-move/file")) && !there(in_home("/disk/d")) && litter() == 0);
	CHECK(unmake(in_home("/deep-move"), 1) == 0);
}

static void test_move_cancelled(void)
{
	struct file_op op = { .kind = FILE_MOVE };
	struct running r;
	struct outcome o;
	struct stat facts;

	mkdir(in_home("/mem"), 0755);
	CHECK(mount("none", in_home("/mem"), "tmpfs", 0, NULL) == 0);
	mkdir(in_home("/many"), 0755);
	for (int i = 0; i < 5000; i++)
		put(in_home("/many/%d", i), "some content");
	op.path = in_home("/many");
	op.path2 = in_home("/mem/many");
	r = begin(&op);
	do
		CHECK(stat(in_home("/mem"), &facts) == 0);
	while (facts.st_nlink == 2 && waitpid(r.pid, NULL, WNOHANG) == 0);
	kill(r.pid, SIGTERM);
	o = finish(r, NULL, 0);
	CHECK(o.type == 0 && litter() == 0 && !there(in_home("/mem/many")) && there(in_home("/many/4999")));
	forget(&o);
	CHECK(unmake(in_home("/many"), 1) == 0);
}

static void test_unreadable(void)
{
	shell("cd %s && mkdir -p p/shut/x p/cross p/open && touch p/open/f p/cross/f && chmod 0 p/shut && chmod 0711 p/cross"
	      " && chmod 0777 p/open && chmod 0755 p", home);
	if (setresgid(4321, 4321, 4321) || setresuid(4321, 4321, 4321))
		_exit(2);
	CHECK(strcmp(list(in_home("/p"), 5, 100, 0), "|/p/cross|/p/open|/p/open/f|/p/shut") == 0);
	CHECK(list_error(in_home("/p/shut")) == EACCES && list_error(in_home("/p/cross")) == EACCES);
	CHECK(unmake(in_home("/p"), 1) == EACCES);
	CHECK(move(in_home("/p/cross/f"), in_home("/disk/x")) == EACCES);
}

int main(void)
{
	settle();
	test_list();
	test_wide();
	test_deep();
	test_mkdir();
	test_chmod();
	test_remove();
	test_move();
	test_swaps();
	test_deep_swaps();
	if (geteuid() == 0) {
		with_mounts(test_move_between_mounts);
		with_mounts(test_move_refused);
		with_mounts(test_move_into_itself);
		with_mounts(test_move_cancelled);
		with_mounts(test_unreadable);
	} else {
		fprintf(stderr, "filetree: SKIPPED, not root: moves between mounts, mounts, other owners\n");
	}
	CHECK(litter() == 0);
	return leave("filetree");
}
