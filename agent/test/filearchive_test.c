/* Packing and unpacking folders: the same tree on both sides, nothing outside the folder whatever an archive says, and
 * no litter. Built by files.mk. */
#include "file_harness.h"

#include <dirent.h>

#define BLOCK 512

struct unpacked {
	int type, error;            /* as struct outcome; `error` of a RESULT: what ended the work */
	uint64_t bytes;
	unsigned files, folders, links, failed, left_out;
	int first_error;            /* of the first reported entry */
	char first[4096];
};

static struct unpacked read_result(struct outcome *o)
{
	struct unpacked got = { .type = o->type, .error = o->error };

	CHECK(o->type != 0);
	if (o->type == 17 && o->result_size >= 36) {
		const uint8_t *at = o->result;

		got.error = (int)number(at, 4);
		got.bytes = number(at + 4, 8);
		got.files = (unsigned)number(at + 12, 4);
		got.folders = (unsigned)number(at + 16, 4);
		got.links = (unsigned)number(at + 20, 4);
		got.failed = (unsigned)number(at + 24, 4);
		got.left_out = (unsigned)number(at + 28, 4);
		if (number(at + 32, 4) > 0) {
			got.first_error = (int)number(at + 37, 4);
			memcpy(got.first, at + 45, number(at + 41, 4));
		}
	}
	forget(o);
	return got;
}

static struct unpacked unpack(const char *path, const void *archive, size_t size)
{
	struct outcome o = run((struct file_op){ .kind = FILE_UNPACK, .path = path, .mode = KEEP }, archive, size);

	return read_result(&o);
}

static struct outcome pack(const char *path, const char *after)
{
	return run((struct file_op){ .kind = FILE_PACK, .path = path, .path2 = after, .mode = KEEP }, NULL, 0);
}

/* ---- archives by hand */

static uint8_t archive[1 << 20];
static size_t filled;

static void start(void)
{
	filled = 0;
	memset(archive, 0, sizeof(archive));
}

static void set_sum(uint8_t *at)
{
	unsigned sum = 0;

	memset(at + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += at[i];
	snprintf((char *)at + 148, 8, "%06o", sum & 0777777);
}

static void add(char type, const char *name, const char *target, unsigned mode, const char *content)
{
	uint8_t *at = archive + filled;
	size_t size = strlen(content);

	memcpy(at, name, strnlen(name, 100));
	snprintf((char *)at + 100, 8, "%07o", mode);
	memcpy(at + 108, "0001750\0", 8);
	memcpy(at + 116, "0001750\0", 8);
	snprintf((char *)at + 124, 12, "%011o", (unsigned)size);
	snprintf((char *)at + 136, 12, "%011o", 1000000000);
	at[156] = (uint8_t)type;
	memcpy(at + 157, target, strnlen(target, 100));
	memcpy(at + 257, "ustar\00000", 8);
	set_sum(at);
	memcpy(at + BLOCK, content, size);
	filled += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

static struct unpacked unpack_added(const char *path)
{
	return unpack(path, archive, filled + 2 * BLOCK);
}

static unsigned mode_of(const char *path)
{
	struct stat facts;

	return lstat(path, &facts) ? 0 : facts.st_mode & 07777;
}

/* ---- tests */

static void test_round_trip(void)
{
	char longest[256], deep[2048] = "";
	struct outcome o;
	struct unpacked got;
	struct stat facts;

	memset(longest, 'n', 255);
	longest[255] = 0;
	for (int i = 0; i < 60; i++)
		strcat(deep, "/a-folder-that-is-deep");
	shell("mkdir -p %s && cd %s && mkdir sub closed && echo one >a && echo two >sub/b && ln -s ../a sub/link && ln a hard && "
	      "printf '' >empty && head -c 3000000 /dev/urandom >big && echo x >'odd\nname' && echo l >%s && mkdir -p .%s && "
	      "echo d >.%s/d && ln -s %s/%s long && chmod 4751 sub/b && echo c >closed/c && chmod 555 closed && "
	      "touch -d @1234567890 a && mkfifo pipe",
	      in_home("/from"), in_home("/from"), longest, deep, deep, longest, longest);
	o = pack(in_home("/from"), "");
	CHECK(o.type == 17 && number(o.result, 8) == o.out.size && o.out.size % BLOCK == 0);
	CHECK(o.info && o.info_size > 0);
	got = unpack(in_home("/new/to"), o.out.at, o.out.size);
	CHECK(got.type == 17 && got.error == 0 && got.failed == 0 && got.left_out == 0);
	/* The FIFO alone is missing, and links to one file become files. */
	shell("cd %s && rm pipe && cd .. && diff -r --no-dereference from new/to", in_home("/from"));
	CHECK(stat(in_home("/new/to/a"), &facts) == 0 && facts.st_mtim.tv_sec == 1234567890);
	CHECK(mode_of(in_home("/new/to/sub/b")) == 0751);
	CHECK(mode_of(in_home("/new/to/closed")) == 0555);
	forget(&o);
	CHECK(litter() == 0);
}

/* What is read with another program, and what is named as left out. */
static void test_pack(void)
{
	struct outcome o;
	FILE *file;

	shell("mkdir -p %s/p/d %s/p-x && cd %s/p && echo 1 >d/1 && echo 2 >d/2 && echo z >z && mkfifo fifo && ln -s /etc/passwd l",
	      home, home, home);
	o = pack(in_home("/p"), "");
	file = fopen(in_home("/p.tar"), "w");
	CHECK(file && fwrite(o.out.at, 1, o.out.size, file) == o.out.size && fclose(file) == 0);
	CHECK(memmem(o.out.at, o.out.size, "SVC.left_out=19 fifo\n", 21) != NULL);
	forget(&o);
	shell("cd %s && tar tf p.tar 2>/dev/null | tr '\\n' ' ' >p.list", home);
	CHECK(holds(in_home("/p.list"), "./ d/ d/1 d/2 l z ") || holds(in_home("/p.list"), "./ d d/1 d/2 l z "));
	o = pack(in_home("/p"), "d/1");
	CHECK(memmem(o.out.at, o.out.size, "d/2", 3) && memmem(o.out.at, o.out.size, "z\0", 2));
	CHECK(!memmem(o.out.at, o.out.size, "d/1", 3) && !memmem(o.out.at, o.out.size, "./\0", 3));
	forget(&o);
	o = pack(in_home("/p"), "d/2");
	CHECK(memcmp(o.out.at, "././@Pax", 8) == 0 && !memmem(o.out.at, o.out.size, "d/", 2));
	forget(&o);
	/* What is left out at the end does not make the archive look cut off. */
	shell("mkdir %s/s && mkfifo %s/s/z1 %s/s/z2", home, home, home);
	o = pack(in_home("/s"), "");
	CHECK(unpack(in_home("/s2"), o.out.at, o.out.size).error == 0);
	CHECK(memmem(o.out.at, o.out.size, "SVC.left_out=19 z1\n22 SVC.left_out=19 z2\n", 41) != NULL);
	forget(&o);
	o = pack(in_home("/p"), "zz");
	CHECK(o.type == 17 && o.out.size == 2 * BLOCK);
	forget(&o);
	o = pack(in_home("/p/z"), "");
	CHECK(o.type == 18 && o.error == ENOTDIR);
	forget(&o);
	o = pack(in_home("/none"), "");
	CHECK(o.type == 18 && o.error == ENOENT);
	forget(&o);
	o = pack("/proc/self/fd", "");
	CHECK(o.type == 18);
	forget(&o);
	/* Files that report no size are named, not packed as empty ones. */
	o = pack("/proc/sys/kernel/random", "");
	CHECK(o.type == 17 && memmem(o.out.at, o.out.size, "SVC.left_out=22 boot_id\n", 24));
	forget(&o);
}

static void test_existing(void)
{
	struct unpacked got;
	struct stat facts;

	shell("mkdir -p %s/old/folder %s/elsewhere && cd %s/old && echo mine >file && chown 1234:2345 file && chmod 700 . && "
	      "ln -s ../elsewhere through && ln -s ../elsewhere/victim link && echo safe >../elsewhere/victim",
	      home, home, home);
	start();
	add('5', "./", "", 0755, "");
	add('0', "file", "", 06777, "new");
	add('0', "link", "", 0644, "not through the link");
	add('0', "through/victim", "", 0644, "out");
	add('0', "folder", "", 0644, "x");
	add('5', "file/below", "", 0755, "");
	add('3', "null", "", 0666, "");
	add('6', "pipe", "", 0666, "");
	got = unpack_added(in_home("/old"));
	CHECK(got.error == 0 && got.files == 2 && got.failed == 3 && got.left_out == 2);
	CHECK(got.first_error == ENOTDIR && strcmp(got.first, "through/victim") == 0);
	CHECK(holds(in_home("/elsewhere/victim"), "safe\n") && holds(in_home("/old/link"), "not through the link"));
	CHECK(stat(in_home("/old/file"), &facts) == 0 && facts.st_uid == 1234 && (facts.st_mode & 07777) == 0777);
	CHECK(mode_of(in_home("/old")) == 0700);
	CHECK(access(in_home("/old/null"), F_OK) && access(in_home("/old/pipe"), F_OK));
}

static void test_escapes(void)
{
	struct unpacked got;

	shell("mkdir -p %s/jail/in && echo safe >%s/jail/secret", home, home);
	start();
	add('0', "../secret", "", 0644, "out");
	add('0', "a/../../secret", "", 0644, "out");
	add('2', "up", "..", 0777, "");
	add('0', "up/secret", "", 0644, "out");
	add('2', "up2", "/", 0777, "");
	add('5', "up2/made", "", 0755, "");
	add('1', "hard", "../secret", 0644, "");
	add('1', "hard2", "up/secret", 0644, "");
	add('2', "evil", "../secret", 0777, "");
	add('1', "evil2", "evil", 0644, "");
	add('0', "evil2", "", 0644, "over");
	add('0', "/absolute", "", 0644, "in");
	got = unpack_added(in_home("/jail/in"));
	CHECK(got.error == 0 && got.failed == 6 && got.first_error == EINVAL);
	CHECK(holds(in_home("/jail/secret"), "safe\n") && holds(in_home("/jail/in/absolute"), "in"));
	CHECK(holds(in_home("/jail/in/evil2"), "over") && access("/made", F_OK) && access("/absolute", F_OK));
	CHECK(access(in_home("/jail/in/hard"), F_OK) && litter() == 0);
}

static void test_damaged(void)
{
	struct unpacked got;

	start();
	add('0', "first", "", 0644, "complete");
	add('0', "second", "", 0644, "this one is cut off");
	got = unpack(in_home("/cut"), archive, filled - 500);
	CHECK(got.type == 17 && got.error == EBADMSG && got.files == 1);
	CHECK(holds(in_home("/cut/first"), "complete") && access(in_home("/cut/second"), F_OK));
	got = unpack(in_home("/cut"), archive, filled);
	CHECK(got.error == EBADMSG && got.files == 2);
	got = unpack(in_home("/cut"), "", 0);
	CHECK(got.error == EBADMSG && got.files == 0);
	memset(archive + filled, 'x', BLOCK);
	got = unpack(in_home("/cut"), archive, filled + BLOCK);
	CHECK(got.error == EBADMSG);
	got = unpack(in_home("/cut/first"), archive, filled);
	CHECK(got.type == 18 && got.error == ENOTDIR);
	CHECK(litter() == 0);
}

/* Seeded changes of an archive with everything in it: whatever they do stays inside the folder. */
static void test_changed(void)
{
	uint64_t state = 88172645463325252ull;
	static uint8_t changed[sizeof(archive)];

	shell("mkdir -p %s/fuzz && echo safe >%s/fuzz/canary", home, home);
	start();
	add('5', "d", "", 0700, "");
	add('0', "d/f", "", 0644, "some content");
	add('2', "d/l", "../..", 0777, "");
	add('1', "d/h", "d/f", 0644, "");
	add('0', "d/l/canary", "", 0644, "out");
	add('x', "pax", "", 0644, "25 path=d/l/../../canary\n");
	add('0', "short", "", 0644, "out");
	add('L', "long", "", 0644, "d/l/canary");
	add('0', "short", "", 0644, "out");
	for (int round = 0; round < 400; round++) {
		struct unpacked got;

		memcpy(changed, archive, filled + 2 * BLOCK);
		for (int i = 0; i < 4; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			changed[state % filled] = (uint8_t)(state >> 40);
			if (state >> 63)
				set_sum(changed + state % filled / BLOCK * BLOCK);
		}
		got = unpack(in_home("/fuzz/in"), changed, filled + 2 * BLOCK);
		CHECK(got.type == 17 || got.type == 18);
	}
	CHECK(holds(in_home("/fuzz/canary"), "safe\n"));
	shell("cd %s/fuzz && ls -A | grep -vx -e in -e canary >../fuzz.list; true", home);
	CHECK(holds(in_home("/fuzz.list"), "") && litter() == 0);
}

/* A cancelled write leaves the files that were complete, and no part of another. */
static void test_cancelled(void)
{
	struct file_op op = { .kind = FILE_UNPACK, .path = in_home("/cancelled"), .mode = KEEP };
	struct running r = begin(&op);
	int status;

	start();
	add('0', "first", "", 0644, "complete");
	add('0', "second", "", 0644, "never complete");
	CHECK(write(r.in, archive, filled - BLOCK + 4) > 0);
	while (access(in_home("/cancelled/first"), F_OK))
		usleep(1000);
	kill(r.pid, SIGTERM);
	waitpid(r.pid, &status, 0);
	close(r.in);
	close(r.out);
	close(r.meta);
	CHECK(access(in_home("/cancelled/second"), F_OK) && litter() == 0);
}

int main(void)
{
	settle();
	test_round_trip();
	test_pack();
	test_existing();
	test_escapes();
	test_damaged();
	test_changed();
	test_cancelled();
	return leave("filearchive_test");
}
