/* Reading files and asking for facts.
 * Built by files.mk. */
#include "file_harness.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static struct outcome read_at(const char *path, uint64_t offset, uint64_t length)
{
	return run((struct file_op){ .kind = FILE_READ, .path = path, .offset = offset, .length = length }, NULL, 0);
}

static int read_error(const char *path)
{
	return run_for_error((struct file_op){ .kind = FILE_READ, .path = path, .length = TO_THE_END });
}

static void check_range(const char *path, uint64_t offset, uint64_t length, const char *expected)
{
	struct outcome o = read_at(path, offset, length);

	CHECK(o.type == 17 && o.result_size == 8 && number(o.result, 8) == strlen(expected));
	CHECK(o.out.size == strlen(expected) && memcmp(o.out.at, expected, o.out.size) == 0);
	forget(&o);
}

static void test_content(void)
{
	const char *path = in_home("/text");

	put(path, "0123456789");
	check_range(path, 0, TO_THE_END, "0123456789");
	check_range(path, 3, 4, "3456");
	check_range(path, 8, 4, "89");
	check_range(path, 10, 4, "");
	check_range(path, 1000, TO_THE_END, "");
	check_range(path, UINT64_MAX, TO_THE_END, "");
	check_range(path, INT64_MAX, TO_THE_END, "");
	check_range(path, 0, 0, "");
	put(in_home("/empty"), "");
	check_range(in_home("/empty"), 0, TO_THE_END, "");
	check_range(in_home("/empty"), 5, TO_THE_END, "");
	CHECK(symlink("text", in_home("/link")) == 0);
	check_range(in_home("/link"), 0, 3, "012");
}

static void test_facts(void)
{
	const char *path = in_home("/facts");
	struct timespec times[2] = { { 1, 0 }, { 1700000000, 123456789 } };
	struct outcome o;
	size_t size = strlen(path);

	put(path, "hello");
	chmod(path, 04750);
	utimensat(AT_FDCWD, path, times, 0);
	o = read_at(path, 0, TO_THE_END);
	CHECK(o.info_size == 4 + size + 1 + 4 + 8 + 8 + 4);
	CHECK(number(o.info, 4) == size && memcmp(o.info + 4, path, size) == 0);
	CHECK(o.info[4 + size] == 1);
	CHECK(number(o.info + 5 + size, 4) == 04750);
	CHECK(number(o.info + 9 + size, 8) == 5);
	CHECK(number(o.info + 17 + size, 8) == 1700000000123);
	CHECK(number(o.info + 25 + size, 4) == 0);
	forget(&o);
}

static void test_stat_of(const char *path, int type, const char *target)
{
	struct outcome o = run((struct file_op){ .kind = FILE_STAT, .path = path }, NULL, 0);
	size_t size = strlen(path);

	CHECK(o.type == 17 && o.result_size == 4 + size + 1 + 4 + 8 + 8 + 4 + strlen(target));
	if (o.type == 17) {
		CHECK(o.result[4 + size] == type);
		CHECK(memcmp(o.result + 29 + size, target, strlen(target)) == 0);
	}
	forget(&o);
}

static void test_stat(void)
{
	char longest[256];

	put(in_home("/a\nb"), "");
	test_stat_of(in_home("/a\nb"), 1, "");
	put(in_home("/\xff\xfe\x80"), "");
	test_stat_of(in_home("/\xff\xfe\x80"), 1, "");
	memset(longest, 'x', 255);
	longest[255] = 0;
	put(in_home("/%s", longest), "");
	test_stat_of(in_home("/%s", longest), 1, "");
	CHECK(symlink("no\nwhere", in_home("/dangling")) == 0);
	test_stat_of(in_home("/dangling"), 3, "no\nwhere");
	test_stat_of("/", 2, "");
	test_stat_of("/dev/null", 4, "");
	CHECK(run_for_error((struct file_op){ .kind = FILE_STAT, .path = in_home("/none") }) == ENOENT);
	CHECK(run_for_error((struct file_op){ .kind = FILE_STAT, .path = in_home("/text/x") }) == ENOTDIR);
	CHECK(run_for_error((struct file_op){ .kind = FILE_STAT, .path = in_home("/%sx", longest) }) == ENAMETOOLONG);
	CHECK(run_for_error((struct file_op){ .kind = FILE_STAT, .path = "relative" }) == EINVAL);
}

static void test_refused(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, in_home("/socket"));
	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	mkfifo(in_home("/fifo"), 0644);
	CHECK(symlink("loop", in_home("/loop")) == 0);
	CHECK(read_error(in_home("")) == EISDIR);
	CHECK(read_error("/") == EISDIR);
	CHECK(read_error(in_home("/fifo")) == EINVAL);
	CHECK(read_error(in_home("/socket")) == EINVAL);
	CHECK(read_error("/dev/zero") == EINVAL);
	CHECK(read_error("/dev/tty") == EINVAL);
	CHECK(read_error(in_home("/loop")) == ELOOP);
	CHECK(read_error(in_home("/none")) == ENOENT);
	CHECK(read_error(in_home("/text/below")) == ENOTDIR);
	close(fd);
}

static void test_kernel_files(void)
{
	char path[64];
	struct outcome o;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)getpid());
	o = read_at(path, 0, TO_THE_END);

	CHECK(o.type == 17 && o.out.size > 100 && number(o.result, 8) == o.out.size);
	forget(&o);
	o = read_at("/proc/version", 6, 7);
	CHECK(o.type == 17 && o.out.size == 7 && memcmp(o.out.at, "version", 7) == 0);
	forget(&o);
}

static void test_large(void)
{
	const size_t size = 64 << 20;
	struct timespec start, end;
	uint32_t *body = malloc(size);
	FILE *file = fopen(in_home("/large"), "w");
	struct outcome o;

	for (uint32_t i = 0; i < size / 4; i++)
		body[i] = i * 2654435761U;
	CHECK(fwrite(body, 1, size, file) == size);
	fclose(file);
	clock_gettime(CLOCK_MONOTONIC, &start);
	o = read_at(in_home("/large"), 0, TO_THE_END);
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK(o.type == 17 && o.out.size == size && memcmp(o.out.at, body, size) == 0);
	fprintf(stderr, "read 64 MiB in %.0f ms\n",
		(double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6);
	forget(&o);
	o = read_at(in_home("/large"), 12345, 40000001);
	CHECK(o.type == 17 && o.out.size == 40000001 && memcmp(o.out.at, (char *)body + 12345, 40000001) == 0);
	forget(&o);
	free(body);
}

/* A reader that closes is not an error: the child exits quietly. */
static void test_reader_gone(void)
{
	struct file_op op = { .kind = FILE_READ, .path = in_home("/large"), .length = TO_THE_END };
	struct running r = begin(&op);
	int status;

	close(r.out);
	close(r.meta);
	waitpid(r.pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	close(r.in);
}

int main(void)
{
	settle();
	test_content();
	test_facts();
	test_stat();
	test_refused();
	test_kernel_files();
	test_large();
	test_reader_gone();
	return leave("fileread");
}
