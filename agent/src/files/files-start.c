/* Starts the child of a file operation. It does not exec, so it closes what it must not hold: the transport, and every
 * other descriptor of the agent. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/descriptors.h"
#include "base/user.h"
#include "files/files.h"
#include "files/filework.h"

#define IN 3
#define OUT 4
#define META 5
#define ABOVE 16

struct ends {
	int in[2], out[2], meta[2]; /* index 0: the agent's end; index 1: the child's */
};

/* Moves a descriptor to its fixed number; unused numbers stay closed. */
static void put(int from, int place)
{
	if (from < 0)
		close(place);
	else if (dup2(from, place) < 0)
		_exit(1);
}

/* A folder directly below the root, which only the agent may make there, is made for the user: the first part of an
 * absolute path. */
static int make_top(const char *path, const struct account *account)
{
	char top[NAME_MAX + 2];
	size_t size = 1 + strcspn(path + 1, "/");
	int fd, status;

	if (size < 2 || size >= sizeof(top))
		return 0;
	memcpy(top, path, size);
	top[size] = '\0';
	if (mkdir(top, 0755))
		return 0;
	fd = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	status = fchown(fd, account->uid, account->gid);
	close(fd);
	return status;
}

/* What such a child does as the user has only that user's rights, so that a link leads it no further. */
static int become_account(const struct work *work)
{
	const struct file_op *op = &work->op;
	bool has_parents = (op->kind == FILE_WRITE || op->kind == FILE_MKDIR) && (op->flag & 1);
	bool is_below = op->path[0] == '/' && (op->kind == FILE_MKDIR || strchr(op->path + 1, '/'));
	struct account account;

	if (account_find(work->account, &account))
		return -1;
	if (has_parents && is_below && account.uid != geteuid() && make_top(op->path, &account))
		return -1;
	return account_take(&account);
}

static _Noreturn void become(const struct work *work, const struct ends *ends)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Moved above the fixed numbers first. */
	int in = ends->in[1] < 0 ? -1 : fcntl(ends->in[1], F_DUPFD, ABOVE);
	int out = ends->out[1] < 0 ? -1 : fcntl(ends->out[1], F_DUPFD, ABOVE);
	int meta = fcntl(ends->meta[1], F_DUPFD, ABOVE);

	put(nothing, 0);
	put(nothing, 1);
	put(in, IN);
	put(out, OUT);
	put(meta, META);
	descriptors_close_from(META + 1);
	if (work->account[0] ? become_account(work) : user_take(work->child.uid)) {
		file_report_to(META);
		file_refuse(errno);
	}
	file_child(&work->op, in < 0 ? -1 : IN, out < 0 ? -1 : OUT, META);
}

static int open_ends(const struct work *work, struct ends *ends)
{
	enum file_kind kind = work->op.kind;
	bool writes = kind == FILE_WRITE || kind == FILE_UNPACK, reads = kind < FILE_STAT && !writes;

	*ends = (struct ends){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe_from_child(ends->meta))
		return -1;
	if (reads && pipe_from_child(ends->out))
		return -1;
	return writes ? pipe_to_child(ends->in) : 0;
}

static void close_ends(struct ends *ends, int whose)
{
	close_end(&ends->in[whose]);
	close_end(&ends->out[whose]);
	close_end(&ends->meta[whose]);
}

int work_fork(struct work *work)
{
	struct ends ends;
	pid_t pid = -1;
	int error = open_ends(work, &ends) ? errno : 0;

	if (!error)
		pid = fork();
	if (pid == 0)
		become(work, &ends);
	if (!error && pid < 0)
		error = errno;
	close_ends(&ends, 1);
	if (error) {
		close_ends(&ends, 0);
		return error;
	}
	work->runs = true;
	work->in_fd = ends.in[0];
	work->out.fd = ends.out[0];
	work->meta.fd = ends.meta[0];
	child_add(&work->child, pid);
	return 0;
}
