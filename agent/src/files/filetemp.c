/* The one temporary file of a file operation: a file while writing, a tree while moving between mounts. It does not
 * outlive the process, unless SIGKILL ends that. SIGTERM comes on cancel and on the parent's death. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "files/filework.h"

#define ATTEMPTS 100

static struct {
	int dir;
	char name[16];
	volatile sig_atomic_t file, tree;
	volatile sig_atomic_t patient; /* set when the tree has its name: the removal of the old one is then completed */
} temp;
static volatile sig_atomic_t cancelled;

/* A file is removed here, because the process may be waiting for content; a tree is removed by the code that builds
 * it. */
static void on_signal(int number)
{
	(void)number;
	cancelled = 1;
	if (temp.patient)
		return;
	if (temp.file)
		unlinkat(temp.dir, temp.name, 0);
	_exit(1);
}

void file_signals(void)
{
	static const int ending[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaddset(&act.sa_mask, ending[i]);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &act, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int choose_name(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[8];
	char *at = temp.name + sprintf(temp.name, ".svc-");

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -1;
	for (size_t i = 0; i < sizeof(random); i++)
		*at++ = letters[random[i] % 32];
	*at = 0;
	return 0;
}

int file_temp_open(int dir)
{
	sigset_t all, before;
	int fd = -1;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	temp.dir = dir;
	for (int i = 0; i < ATTEMPTS && choose_name() == 0; i++) {
		fd = openat(dir, temp.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	temp.file = fd >= 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

const char *file_temp_tree(int dir)
{
	struct stat facts;

	temp.dir = dir;
	for (int i = 0; i < ATTEMPTS && choose_name() == 0; i++) {
		if (fstatat(dir, temp.name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		temp.patient = 1;
		temp.tree = 1;
		return temp.name;
	}
	errno = EEXIST;
	return NULL;
}

int file_temp_commit(const char *name)
{
	sigset_t all, before;
	int status;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	status = renameat(temp.dir, temp.name, temp.dir, name);
	if (status == 0)
		temp.file = temp.tree = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

void file_temp_discard(void)
{
	int error = errno;

	if (temp.file)
		unlinkat(temp.dir, temp.name, 0);
	if (temp.tree)
		file_remove_tree(temp.dir, temp.name);
	temp.file = 0;
	errno = error;
}

int file_cancelled(void)
{
	return cancelled;
}
