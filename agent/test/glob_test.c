/* Patterns against a simple reference matcher, on trees and patterns made at random, and by hand where it matters.
 * Built by files.mk.
 * GLOB_SEED and GLOB_ROUNDS choose other random ones. */
#include "file_harness.h"

#include <ftw.h>
#include <time.h>

#include "files/glob.h"

#define PATHS 8192

static char found[1 << 22];
static int found_truncated;

/* The paths below home, between bars; NULL when refused, with errno. */
static const char *glob(const char *pattern, uint32_t limit)
{
	struct outcome o = run((struct file_op){ .kind = FILE_GLOB, .path = pattern, .limit = limit }, NULL, 0);
	char *to = found;
	uint32_t count = 0;

	*to = 0;
	for (size_t at = 0; at < o.out.size; count++) {
		size_t size = number(o.out.at + at, 4), skip = strlen(home);
		const char *from = (const char *)o.out.at + at + 4;

		if (size < skip || memcmp(from, home, skip) != 0)
			skip = 0;
		if ((size_t)(to - found) + size + 2 < sizeof(found))
			to += sprintf(to, "|%.*s", (int)(size - skip), from + skip);
		at += 4 + size;
	}
	errno = o.error;
	if (o.type == 17) {
		CHECK(o.result_size == 5 && number(o.result, 4) == count);
		found_truncated = o.result[4];
	}
	count = (uint32_t)o.type;
	forget(&o);
	return count == 17 ? found : NULL;
}

static void check_glob(const char *pattern, const char *expected)
{
	const char *result = glob(in_home("%s", pattern), 10000);

	if (!result || strcmp(result, expected) != 0) {
		failures++;
		fprintf(stderr, "glob %s gives %s and not %s\n", pattern, result ? result : "an error", expected);
	}
}

static void test_by_hand(void)
{
	shell("cd %s && mkdir -p a/b/c .h/x src/.git && touch a/1.txt a/2.txt a/b/3.txt a/b/c/4.txt a/.dot .h/x/5.txt"
	      " src/.git/6.txt 'src/[x]' 'src/a*b' 'src/q{1,2}' src/z && ln -s a link && ln -s . a/b/loop && ln -s none a/bad", home);
	check_glob("/a/*.txt", "|/a/1.txt|/a/2.txt");
	check_glob("/a/?.txt", "|/a/1.txt|/a/2.txt");
	check_glob("/a/[!1].txt", "|/a/2.txt");
	check_glob("/a/[^0-1].txt", "|/a/2.txt");
	check_glob("/a/**/*.txt", "|/a/1.txt|/a/2.txt|/a/b/3.txt|/a/b/c/4.txt");
	check_glob("/**/3.txt", "|/a/b/3.txt");
	check_glob("/a/b/**", "|/a/b/3.txt|/a/b/c|/a/b/c/4.txt|/a/b/loop");
	check_glob("/a/**/**/c/**/4.txt", "|/a/b/c/4.txt");
	check_glob("/link/*.txt", "|/link/1.txt|/link/2.txt");
	check_glob("/li*/1*", "|/link/1.txt");
	check_glob("/{link,a}/1*", "|/a/1.txt|/link/1.txt");
	check_glob("/a/b/loop/3.txt", "|/a/b/loop/3.txt");
	check_glob("/*/.*", "|/a/.dot|/link/.dot|/src/.git");
	check_glob("/**/*5*", "");
	check_glob("/.h/**/5.txt", "|/.h/x/5.txt");
	check_glob("/**/.git/*", "|/src/.git/6.txt");
	check_glob("/a/b{ad,/c/{4,5}.txt,}", "|/a/b|/a/b/c/4.txt|/a/bad");
	check_glob("/src/\\[x\\]", "|/src/[x]");
	check_glob("/src/[[]x]", "|/src/[x]");
	check_glob("/src/a\\*b", "|/src/a*b");
	check_glob("/src/q{1,2}", "");
	check_glob("/src/q\\{1,2\\}", "|/src/q{1,2}");
	check_glob("/src/q[{]1*", "|/src/q{1,2}");
	check_glob("/src/{z}", "");
	check_glob("/src\\/z", "|/src/z");
	check_glob("//src/./z/", "|/src/z");
	check_glob("/none/*", "");
	check_glob("/a/1.txt/*", "");
	check_glob("/a/[", "");
	check_glob("/{a,a,a}/1.txt", "|/a/1.txt");
	CHECK(strcmp(glob("/", 10), "|/") == 0 && strcmp(glob("/t{m,}p", 10), "|/tmp") == 0);
}

static void test_limit(void)
{
	CHECK(strcmp(glob(in_home("/a/*.txt"), 1), "|/a/1.txt") == 0 && found_truncated);
	CHECK(strcmp(glob(in_home("/a/*.txt"), 2), "|/a/1.txt|/a/2.txt") == 0 && !found_truncated);
	CHECK(strcmp(glob(in_home("/a/*.txt"), 0), "") == 0 && found_truncated);
	mkdir(in_home("/many"), 0755);
	for (int i = 0; i < 5000; i++)
		put(in_home("/many/%05d", (i * 7919) % 5000), "");
	CHECK(strcmp(glob(in_home("/many/*"), 2), "|/many/00000|/many/00001") == 0 && found_truncated);
	CHECK(strlen(glob(in_home("/many/*"), 10000)) == 5000 * 12 && !found_truncated);
	shell("rm -r %s/many", home);
}

static void test_refused(void)
{
	char pattern[5000] = "/";

	CHECK(!glob("relative/*", 10) && errno == EINVAL);
	CHECK(!glob("/a/../*", 10) && errno == EINVAL);
	CHECK(!glob("/{a,b/..}/x", 10) && errno == EINVAL);
	for (int i = 0; i < 10; i++)
		strcat(pattern, "{a,b}");
	CHECK(glob(pattern, 10) && strcmp(found, "") == 0);
	strcat(pattern, "{a,b}");
	CHECK(!glob(pattern, 10) && errno == EINVAL);
	memset(pattern + 1, '{', 4095);
	pattern[4096] = 0;
	CHECK(glob(pattern, 10));
	memset(pattern + 4096, '{', 1);
	pattern[4097] = 0;
	CHECK(!glob(pattern, 10) && errno == EINVAL);
}

/* What takes a backtracking matcher for ever. */
static void test_hostile(void)
{
	char name[256] = "", part[1024] = "";
	struct timespec start, end;

	memset(name, 'a', 255);
	for (int i = 0; i < 100; i++)
		strcat(part, "*a*a?");
	strcat(part, "b");
	clock_gettime(CLOCK_MONOTONIC, &start);
	CHECK(!glob_match(part, name));
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK(end.tv_sec - start.tv_sec < 2);
	put(in_home("/%s", name), "");
	CHECK(glob(in_home("/**/**/*a*a*a*a*a*a*a*a*a*a*a*b"), 10) && strcmp(found, "") == 0);
	unlink(in_home("/%s", name));
}

/* ---- the reference: plain recursion over whole paths, braces expanded as they come */

static const char *set_close(const char *at)
{
	const char *start = at + (*at == '!' || *at == '^');

	for (at = start; *at && *at != '/'; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == ']' && at > start)
			return at;
	}
	return NULL;
}

static int in_set(const char *at, const char *close, char byte)
{
	int negated = *at == '!' || *at == '^', in = 0;

	for (at += negated; at < close; at++) {
		unsigned char low, high;
		if (*at == '\\')
			at++;
		low = high = (unsigned char)*at;
		if (at[1] == '-' && at + 2 < close) {
			at += 2;
			if (*at == '\\')
				at++;
			high = (unsigned char)*at;
		}
		in |= low <= (unsigned char)byte && (unsigned char)byte <= high;
	}
	return in != negated;
}

static int same_part(const char *p, const char *end, const char *n, const char *stop)
{
	const char *close;

	if (p == end)
		return n == stop;
	if (*p == '*')
		return same_part(p + 1, end, n, stop) || (n < stop && same_part(p, end, n + 1, stop));
	if (n == stop)
		return 0;
	if (*p == '?')
		return same_part(p + 1, end, n + 1, stop);
	if (*p == '[' && (close = set_close(p + 1)) && close < end)
		return in_set(p + 1, close, *n) && same_part(close + 1, end, n + 1, stop);
	if (*p == '\\' && p + 1 < end)
		p++;
	return *p == *n && same_part(p + 1, end, n + 1, stop);
}

static int matches(const char *p, const char *n)
{
	const char *end, *stop;
	int dotted;

	p += strspn(p, "/");
	n += strspn(n, "/");
	end = p + strcspn(p, "/");
	stop = n + strcspn(n, "/");
	if (p == end || n == stop)
		return p == end && n == stop;
	if (end - p == 2 && strncmp(p, "**", 2) == 0) {
		if (end[strspn(end, "/")] == 0)
			return *n != '.' && (*stop == 0 || matches(p, stop));
		return matches(end, n) || (*n != '.' && *stop && matches(p, stop));
	}
	dotted = *p == '.' || (*p == '\\' && p[1] == '.');
	return (*n != '.' || dotted) && same_part(p, end, n, stop) && matches(end, stop);
}

static char paths[PATHS][512];
static size_t path_count;

static int gather(const char *path, const struct stat *facts, int type, struct FTW *where)
{
	(void)facts;
	(void)type;
	(void)where;
	if (path_count < PATHS)
		strcpy(paths[path_count++], path);
	return 0;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(left, right);
}

static int any_matches(char choices[][256], size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (matches(choices[i], path))
			return 1;
	}
	return 0;
}

static void grow(int dir, int level)
{
	static const char *const names[] = { "a", "b", "ab", "aab", ".a", "a.b", "c", "[a]", "a*", "-", "ba" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int next;
		if (rand() % 2)
			continue;
		if (level == 3 || rand() % 2) {
			close(openat(dir, names[i], O_CREAT | O_WRONLY, 0644));
			continue;
		}
		mkdirat(dir, names[i], 0755);
		next = openat(dir, names[i], O_RDONLY | O_DIRECTORY);
		grow(next, level + 1);
		close(next);
	}
}

/* A pattern and, made with it, the choices its one group of braces stands for. */
static size_t invent(char *pattern, char choices[][256])
{
	static const char *const bits[] = { "a", "b", "*", "?", "/", "/**/", "**", "[ab]", "[!a]", "[a-c]", ".", "\\a", "\\*",
					    "[", "]", "-", "/*", "a", "*", "\\[", "[^]a]", "[\\]a-]" };
	char head[64] = "", tail[64] = "";
	size_t count = 1 + (size_t)rand() % 3;
	char *to;

	for (int i = rand() % 5; i > 0; i--)
		strcat(head, bits[(size_t)rand() % (sizeof(bits) / sizeof(*bits))]);
	for (int i = rand() % 5; i > 0; i--)
		strcat(tail, bits[(size_t)rand() % (sizeof(bits) / sizeof(*bits))]);
	to = pattern + sprintf(pattern, "%s/%s%s", home, head, count > 1 ? "{" : "");
	for (size_t i = 0; i < count; i++) {
		char middle[64] = "";
		for (int j = rand() % 3; j > 0; j--)
			strcat(middle, bits[(size_t)rand() % (sizeof(bits) / sizeof(*bits))]);
		to += sprintf(to, "%s%s", i ? "," : "", middle);
		snprintf(choices[i], 256, "%s/%s%s%s", home, head, middle, tail);
	}
	sprintf(to, "%s%s", count > 1 ? "}" : "", tail);
	return count;
}

/* `.` and `..` as parts are ours to refuse or skip, and no part of the comparison. */
static int has_dot_part(char choices[][256], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(choices[i]);
		if (strstr(choices[i], "/./") || strstr(choices[i], "/../") || strstr(choices[i], "...") ||
		    (size > 1 && strcmp(choices[i] + size - 2, "/.") == 0) ||
		    (size > 2 && strcmp(choices[i] + size - 3, "/..") == 0))
			return 1;
	}
	return 0;
}

static void compare(const char *pattern, char choices[][256], size_t count)
{
	static char expected[1 << 22];
	char *to = expected;
	const char *result = glob(pattern, 10000);

	*to = 0;
	for (size_t i = 0; i < path_count; i++) {
		if (any_matches(choices, count, paths[i]))
			to += sprintf(to, "|%s", paths[i] + strlen(home));
	}
	if (!result || strcmp(result, expected) != 0) {
		failures++;
		fprintf(stderr, "glob %s gives\n %s and not\n %s\n", pattern, result ? result : "an error", expected);
	}
}

static void test_random(void)
{
	const char *seed = getenv("GLOB_SEED"), *rounds = getenv("GLOB_ROUNDS");
	char pattern[1024], choices[4][256];

	srand(seed ? (unsigned)atoi(seed) : 1);
	for (int round = 0; round < (rounds ? atoi(rounds) : 2000); round++) {
		size_t count;
		if (round % 200 == 0) {
			int dir;
			shell("rm -rf %s; mkdir %s", home, home);
			dir = open(home, O_RDONLY | O_DIRECTORY);
			grow(dir, 0);
			close(dir);
			path_count = 0;
			nftw(home, gather, 16, FTW_PHYS);
			qsort(paths, path_count, sizeof(paths[0]), by_text);
		}
		count = invent(pattern, choices);
		if (!has_dot_part(choices, count))
			compare(pattern, choices, count);
	}
}

static void test_unreadable(void)
{
	pid_t pid;
	int status;

	shell("rm -rf %s/*; cd %s && mkdir -p cross/in shut && touch cross/f shut/f && chmod 0711 cross && chmod 0 shut", home, home);
	pid = fork();
	if (pid == 0) {
		failures = 0;
		if (setresgid(4321, 4321, 4321) || setresuid(4321, 4321, 4321))
			_exit(2);
		check_glob("/*/f", "|/cross/f");
		check_glob("/*/f*", "");
		check_glob("/cross/f", "|/cross/f");
		check_glob("/cross/{f,no*}", "|/cross/f");
		check_glob("/**", "|/cross|/shut");
		_exit(failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Folders come and go, and turn into links to above, while they are searched. */
static void test_swaps(void)
{
	pid_t swapper = fork();

	if (swapper == 0) {
		for (;;) {
			mkdir(in_home("/s"), 0755);
			close(open(in_home("/s/f"), O_CREAT | O_WRONLY, 0644));
			mkdir(in_home("/s/t"), 0755);
			unlink(in_home("/s/f"));
			rmdir(in_home("/s/t"));
			rmdir(in_home("/s"));
			(void)!symlink("..", in_home("/s"));
			unlink(in_home("/s"));
		}
	}
	for (int i = 0; i < 200; i++)
		CHECK(glob(in_home("/**/f"), 100) && glob(in_home("/*/*/*"), 100));
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
}

int main(void)
{
	settle();
	test_by_hand();
	test_limit();
	test_refused();
	test_hostile();
	test_random();
	if (geteuid() == 0)
		test_unreadable();
	else
		fprintf(stderr, "glob: SKIPPED, not root: folders of others\n");
	test_swaps();
	return leave("glob");
}
