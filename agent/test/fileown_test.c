/* What a file operation must not reach: the process that does it, and through it the agent's memory and descriptors.
 * Built by files.mk. */
#include "file_harness.h"

static int read_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_READ, .path = path, .length = TO_THE_END });
}

static int write_error(const char *path)
{
	struct outcome o = run((struct file_op){ .kind = FILE_WRITE, .path = path, .mode = KEEP }, "forged", 6);
	int error = o.type == 17 ? 0 : o.type == 18 ? o.error : -1;

	/* Checks that no pipe carried anything but the answer. */
	CHECK(o.out.size == 0);
	forget(&o);
	return error;
}

static int list_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_LIST, .path = path, .depth = 3, .limit = 1000 });
}

static int stat_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_STAT, .path = path });
}

static int chmod_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_CHMOD, .path = path, .mode = 0600 });
}

static int move_error(const char *from, const char *to)
{
	return run_for_error((struct file_op){ .kind = FILE_MOVE, .path = from, .path2 = to });
}

static int remove_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_REMOVE, .path = path, .flag = 1 });
}

static void test_memory(void)
{
	static const char *const own[] = {
		"/proc/self/maps", "/proc/self/smaps", "/proc/self/mem", "/proc/self/environ", "/proc/self/auxv",
		"/proc/self/cmdline", "/proc/self/syscall", "/proc/self/stack", "/proc/self/fdinfo/1",
		"/proc/thread-self/maps", "/proc/self/root/proc/self/maps", "/proc/self/cwd/proc/self/maps",
		"/proc/self/task/../maps", "/dev/fd/../maps", "/proc/../proc/self/../self/maps",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (access(own[i], F_OK))
			continue;
		CHECK(read_error(own[i]) == EACCES);
	}
	CHECK(write_error("/proc/self/mem") == EACCES);
	CHECK(write_error("/proc/self/oom_score_adj") == EACCES);
	CHECK(write_error("/proc/self/comm") == EACCES);
}

/* The harness gives each operation three pipes; their numbers vary. */
static void test_descriptors(void)
{
	static const char *const folders[] = { "/proc/self/fd", "/proc/thread-self/fd", "/dev/fd", "/proc/self/root/proc/self/fd" };
	char path[80];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		for (int fd = 3; fd < 9; fd++) {
			int error;

			snprintf(path, sizeof(path), "%s/%d", folders[i], fd);
			error = write_error(path);
			CHECK(error == EACCES || error == ENOENT);
			error = read_error(path);
			CHECK(error == EACCES || error == ENOENT || error == EINVAL);
			error = chmod_error(path);
			CHECK(error == EACCES || error == ENOENT);
		}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		CHECK(list_error(folders[i]) == EACCES);
}

static void test_links(void)
{
	CHECK(symlink("/proc/self/maps", in_home("/maps")) == 0);
	CHECK(symlink("/proc/self", in_home("/me")) == 0);
	CHECK(symlink("me/fd", in_home("/ends")) == 0);
	CHECK(read_error(in_home("/maps")) == EACCES);
	CHECK(read_error(in_home("/me/maps")) == EACCES);
	CHECK(list_error(in_home("/me")) == EACCES);
	CHECK(list_error(in_home("/me/task")) == EACCES);
	CHECK(list_error(in_home("/ends")) == EACCES);
	for (int fd = 3; fd < 9; fd++) {
		int error = write_error(in_home("/ends/%d", fd));
		CHECK(error == EACCES || error == ENOENT);
	}
	/* The link itself is the guest's. */
	CHECK(stat_error(in_home("/me")) == 0);
	CHECK(stat_error("/proc/self") == 0);
}

static void test_other_operations(void)
{
	struct outcome o;

	CHECK(stat_error("/proc/self/fd/0") == EACCES);
	CHECK(stat_error("/proc/self/exe") == EACCES);
	CHECK(stat_error("/proc/self/maps") == EACCES);
	CHECK(move_error("/proc/self/maps", in_home("/stolen")) == EACCES);
	CHECK(move_error("/proc/self/net", in_home("/stolen")) == EACCES);
	CHECK(move_error(in_home("/maps"), "/proc/self/x") != 0);
	CHECK(remove_error("/proc/self/maps") == EACCES);
	CHECK(access(in_home("/stolen"), F_OK) != 0);
	CHECK(list_error("/proc/self/maps") == EACCES);
	for (int i = 0; i < 2; i++) {
		o = run((struct file_op){ .kind = FILE_GLOB, .path = i ? "/proc/self/fd/*" : "/proc/*self/{maps,environ}",
			.limit = 100 }, NULL, 0);
		CHECK(o.type == 17 && o.out.size == 0);
		forget(&o);
	}
}

/* By its number, which the next process gets when nobody else is quicker. */
static void test_by_number(void)
{
	char path[80];
	int error = ENOENT;

	/* Where somebody else was quicker, nobody or another process has the number. */
	for (int tries = 0; tries < 200 && error != EACCES; tries++) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", 20000 + tries);
		snprintf(path, sizeof(path), "/proc/%d/maps", 20001 + tries);
		put("/proc/sys/kernel/ns_last_pid", pid);
		error = read_error(path);
	}
	CHECK(error == EACCES);
}

/* The targets of `self` in `/proc` belong to the namespaces; other processes belong to the guest. */
static void test_allowed(void)
{
	char path[80];
	int fd = open(in_home("/file"), O_RDWR | O_CREAT, 0644);

	CHECK(read_error("/proc/mounts") == 0);
	CHECK(read_error("/proc/net/dev") == 0);
	CHECK(list_error("/proc/net") == 0);
	CHECK(read_error("/proc/meminfo") == 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)getpid());
	CHECK(read_error(path) == 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	CHECK(write_error(path) == 0);
	CHECK(chmod_error(path) == 0);
	CHECK(stat_error(path) == 0);
	close(fd);
}

/* Another process's pipe has no name either; a FIFO has. */
static void test_nameless(void)
{
	char path[80];
	int ends[2], fifo;

	if (pipe(ends))
		abort();
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), ends[1]);
	CHECK(write_error(path) == EACCES);
	mkfifo(in_home("/fifo"), 0644);
	fifo = open(in_home("/fifo"), O_RDWR);
	CHECK(write_error(in_home("/fifo")) == 0);
	close(fifo);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	settle();
	test_memory();
	test_descriptors();
	test_links();
	test_other_operations();
	test_by_number();
	test_allowed();
	test_nameless();
	return leave("fileown");
}
