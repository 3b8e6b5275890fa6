/* The child of launch becomes the runner. Order matters: cgroups and mounts need the server's rights, so they come
 * before the change of uid, and no code of the runner runs before that change. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "init/launch.h"

#define MAX_ARGUMENTS 512
#define MAX_ENVIRONMENT 8

/* An empty file or folder to mount `source` on, of the same type. */
static int make_mount_point(const char *source, const char *target)
{
	struct stat facts;
	int fd;

	if (stat(source, &facts))
		return -1;
	if (S_ISDIR(facts.st_mode))
		return mkdir(target, 0711) && errno != EEXIST ? -1 : 0;
	fd = open(target, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : close(fd);
}

/* terminals=<path>: for a runner that cannot limit terminals itself. */
static int stage_terminals(const char *path)
{
	if (!path)
		return 0;
	if ((mkdir(path, 0711) && errno != EEXIST) || mount("devpts", path, "devpts", MS_NOSUID | MS_NOEXEC, TERMINALS))
		return fail("stage the terminals");
	return 0;
}

/* stage=<name>=<source>: a private mount of the source in stage_dir=, because a sandbox's uid need not be able to reach the
 * server's files; only this process and its children see the mount, so it ends with them, and all sandboxes share the
 * place. A name may lie in a folder that was staged before it. */
static int stage(const struct start *start)
{
	const struct settings *s = start->settings;
	const char *folder = settings_get(s, "stage_dir");
	struct settings_pair source;
	char target[4096];
	size_t cursor = 0;

	if (!settings_get(s, "stage"))
		return 0;
	if (!folder || (mkdir(folder, 0711) && errno != EEXIST))
		return fail("make the folder of mounts");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return fail("make a mount namespace");
	while (settings_pair(s, "stage", &cursor, &source) > 0) {
		snprintf(target, sizeof(target), "%s/%s", folder, source.first);
		if (make_mount_point(source.second, target) || mount(source.second, target, NULL, MS_BIND | MS_REC, NULL))
			return fail("stage %s", source.first);
	}
	if (settings_pair(s, "stage_tree", &(size_t){ 0 }, &source) > 0) {
		snprintf(target, sizeof(target), "%s/%s", folder, source.first);
		if (make_mount_point(source.second, target) || launch_stage_tree(start, source.second, target))
			return fail("stage the image");
	}
	return stage_terminals(settings_get(s, "terminals"));
}

int launch_drop(const struct start *start)
{
	if (!start->drop)
		return 0;
	if (start->uid == 0 || start->gid == 0) {
		errno = EINVAL;
		return fail("a sandbox never has uid 0");
	}
	if (setgroups(0, NULL) || setresgid(start->gid, start->gid, start->gid) ||
	    setresuid(start->uid, start->uid, start->uid))
		return fail("drop to the sandbox's uid");
	return 0;
}

/* Moves the four descriptors to their fixed numbers; the sources are first moved above them. */
static int place_descriptors(struct start *start)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high[4] = { nothing, start->output_fd, start->listen_fd, start->control_fd };
	static const int place[5] = { 0, 1, LISTEN_FD, CONTROL_FD, 2 };

	for (int i = 0; i < 4; i++) {
		high[i] = fcntl(high[i], F_DUPFD_CLOEXEC, 16);
		if (high[i] < 0)
			return fail("descriptors");
	}
	for (int i = 0; i < 5; i++) {
		if (dup2(high[i < 4 ? i : 1], place[i]) < 0)
			return fail("descriptors");
	}
	descriptors_close_from(CONTROL_FD + 1);
	start->output_fd = 1;
	return 0;
}

void launch_default_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int execute_runner(const struct settings *s)
{
	const char *environment[MAX_ENVIRONMENT + 2] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin" };
	const char *arguments[MAX_ARGUMENTS + 2];
	const char *argument;
	size_t cursor = 0;
	int count = 1;

	while (count <= MAX_ENVIRONMENT && (argument = settings_each(s, "runner_env", &cursor)))
		environment[count++] = argument;
	count = 0;
	cursor = 0;

	arguments[count++] = settings_get(s, "runner");
	while ((argument = settings_each(s, "arg", &cursor))) {
		if (count > MAX_ARGUMENTS)
			return fail("too many arguments");
		arguments[count++] = argument;
	}
	arguments[count] = NULL;
	execve(arguments[0], (char *const *)arguments, (char *const *)environment);
	return fail("start the runner");
}

/* No code of the runner runs outside of them. */
static int enter_cgroups(const struct start *start)
{
	char byte;

	if (read(start->cgroups_fd, &byte, 1) != 1)
		return fail("wait for the cgroups");
	return cgroup_join(start->settings);
}

int launch_child(struct start *start)
{
	umask(022);
	if (setsid() < 0)
		return fail("setsid");
	if (stage(start) || enter_cgroups(start) || place_descriptors(start) || launch_gate(start->settings) || launch_drop(start))
		return -1;
	if (chdir("/"))
		return fail("chdir");
	launch_default_signals();
	return execute_runner(start->settings);
}
