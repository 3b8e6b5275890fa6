/* Runs one file operation as the agent does: in a child, with three pipes, and collects the output. A test program
 * includes this once. It works in a new folder below TMPDIR, or /tmp, and removes it at the end. */
#ifndef SVC_FILE_HARNESS_H
#define SVC_FILE_HARNESS_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

#define CHECK(fact) check(!!(fact), #fact, __FILE__, __LINE__)
#define TO_THE_END UINT64_MAX
#define KEEP UINT32_MAX

/* Each operation is a fork, which copies the page tables of all memory, freed memory included. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

static int failures;
static char home[64];

static inline void check(int holds, const char *fact, const char *file, int line)
{
	if (holds)
		return;
	failures++;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, fact);
}

struct taken {
	uint8_t *at;
	size_t size, room;
};

struct outcome {
	struct taken out, meta;
	int type;                   /* 17 RESULT, 18 ERROR, 0 none */
	int error;
	const uint8_t *result;
	size_t result_size;
	const uint8_t *info;        /* payload of the DATA message */
	size_t info_size;
	int status;                 /* of waitpid */
};

struct running {
	pid_t pid;
	int in, out, meta;
};

static inline uint64_t number(const uint8_t *at, size_t size)
{
	uint64_t value = 0;

	while (size > 0)
		value = value << 8 | at[--size];
	return value;
}

static inline struct running begin(const struct file_op *op)
{
	int in[2], out[2], meta[2];
	struct running r;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(meta, O_CLOEXEC))
		abort();
	r.pid = fork();
	if (r.pid == 0) {
		close(in[1]);
		close(out[0]);
		close(meta[0]);
		alarm(120);
		file_child(op, in[0], out[1], meta[1]);
	}
	close(in[0]);
	close(out[1]);
	close(meta[1]);
	r.in = in[1];
	r.out = out[0];
	r.meta = meta[0];
	return r;
}

static inline int take(struct taken *taken, int fd)
{
	ssize_t got;

	if (taken->room - taken->size < 65536) {
		taken->room = taken->room * 2 + 131072;
		taken->at = realloc(taken->at, taken->room);
	}
	got = read(fd, taken->at + taken->size, taken->room - taken->size);
	if (got > 0)
		taken->size += (size_t)got;
	return got > 0;
}

static inline void understand(struct outcome *o)
{
	size_t at = 0;

	while (at + 5 <= o->meta.size) {
		size_t size = number(o->meta.at + at, 4);
		const uint8_t *payload = o->meta.at + at + 5;

		CHECK(size >= 1 && at + 4 + size <= o->meta.size);
		CHECK(o->type == 0);
		if (o->meta.at[at + 4] == 4) {
			CHECK(payload[0] == 0);
			o->info = payload + 1;
			o->info_size = size - 2;
		} else {
			o->type = o->meta.at[at + 4];
			o->result = payload;
			o->result_size = size - 1;
		}
		at += 4 + size;
	}
	CHECK(at == o->meta.size);
	if (o->type == 18)
		o->error = (int)number(o->result, 4);
}

/* Feeds `body` and collects everything until the child ends. */
static inline struct outcome finish(struct running r, const void *body, size_t size)
{
	struct outcome o = { 0 };
	const uint8_t *from = body;
	int open = 2;

	fcntl(r.in, F_SETFL, O_NONBLOCK);
	while (open > 0 || r.in >= 0) {
		struct pollfd fds[3] = { { r.in, POLLOUT, 0 }, { r.out, POLLIN, 0 }, { r.meta, POLLIN, 0 } };

		if (size == 0 && r.in >= 0) {
			close(r.in);
			fds[0].fd = r.in = -1;
		}
		if (open == 0)
			break;
		poll(fds, 3, -1);
		if (fds[0].revents) {
			ssize_t put = write(r.in, from, size);
			if (put < 0 && errno != EAGAIN)
				size = 0;
			else if (put > 0) {
				from += put;
				size -= (size_t)put;
			}
		}
		if (fds[1].revents && !take(&o.out, r.out)) {
			close(r.out);
			r.out = -1;
			open--;
		}
		if (fds[2].revents && !take(&o.meta, r.meta)) {
			close(r.meta);
			r.meta = -1;
			open--;
		}
	}
	if (r.in >= 0)
		close(r.in);
	waitpid(r.pid, &o.status, 0);
	CHECK(WIFEXITED(o.status));
	understand(&o);
	return o;
}

static inline struct outcome run(struct file_op op, const void *body, size_t size)
{
	return finish(begin(&op), body, size);
}

static inline void forget(struct outcome *o)
{
	free(o->out.at);
	free(o->meta.at);
}

/* Runs and returns only the errno; 0 for a RESULT, -1 for neither. */
static inline int run_for_error(struct file_op op)
{
	struct outcome o = run(op, NULL, 0);
	int error = o.type == 17 ? 0 : o.type == 18 ? o.error : -1;

	forget(&o);
	return error;
}

static inline const char *in_home(const char *form, ...)
{
	static char paths[8][8192];
	static int next;
	char *path = paths[next++ % 8];
	size_t size = (size_t)sprintf(path, "%s", home);
	va_list args;

	va_start(args, form);
	vsnprintf(path + size, sizeof(paths[0]) - size, form, args);
	va_end(args);
	return path;
}

static inline void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
}

static inline int holds(const char *path, const char *text)
{
	char content[4096] = "";
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file)
		return 0;
	size = fread(content, 1, sizeof(content) - 1, file);
	fclose(file);
	return size == strlen(text) && memcmp(content, text, size) == 0;
}

static inline void shell(const char *form, ...)
{
	char command[16384];
	va_list args;

	va_start(args, form);
	vsnprintf(command, sizeof(command), form, args);
	va_end(args);
	if (system(command))
		fprintf(stderr, "failed: %s\n", command);
}

/* Returns the names below home that look temporary. */
static inline int litter(void)
{
	char command[256];
	FILE *found;
	int count = 0;

	snprintf(command, sizeof(command), "find %s -name '.svc-*'", home);
	for (found = popen(command, "r"); fgets(command, sizeof(command), found);)
		count++;
	pclose(found);
	return count;
}

static inline void settle(void)
{
	const char *below = getenv("TMPDIR");

	snprintf(home, sizeof(home), "%s/file-test-XXXXXX", below && strlen(below) < 32 ? below : "/tmp");
	umask(022);
	if (!mkdtemp(home) || chmod(home, 0755))
		abort();
	signal(SIGPIPE, SIG_IGN);
}

static inline int leave(const char *name)
{
	shell("rm -rf %s", home);
	fprintf(stderr, "%s: %s\n", name, failures ? "FAILED" : "ok");
	return failures ? 1 : 0;
}

#endif
