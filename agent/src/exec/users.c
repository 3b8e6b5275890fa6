/* `enter` and `leave`. A home is in a folder that only the agent can write, so nobody can replace its name. */
#define _GNU_SOURCE
#include "exec/users.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reap.h"
#include "exec/console.h"
#include "exec/deadline.h"
#include "exec/execs.h"

#define PATIENCE_US 500000
#define PAUSE_US 5000
#define ROUNDS_MAX 40

enum step { STEP_PROCESSES, STEP_BELONGINGS };

struct leaving {
	struct child child;    /* child of the current step */
	struct timer timer;
	struct stream *stream; /* NULL: nobody waits for the answer any more */
	uid_t uid;
	enum step step;
	bool is_due;           /* its time is over: only its processes end, and nobody waits for an answer */
	bool last;             /* no process of the tenant was being started when the round began */
	unsigned rounds;
	char home[HOME_MAX + 1];
};

static int read_arguments(struct reader *arguments, uid_t *uid, const char **home)
{
	*uid = read_u32(arguments);
	*home = read_text(arguments);
	if (!reader_done(arguments) || *uid == 0 || *uid == (uid_t)-1)
		return EINVAL;
	return (*home)[0] == '/' && strlen(*home) <= HOME_MAX ? 0 : EINVAL;
}

/* ---- enter */

static int make_parent(const char *home)
{
	char parent[HOME_MAX + 1];

	strcpy(parent, home);
	*strrchr(parent, '/') = '\0';
	return !parent[0] || mkdir(parent, 0711) == 0 || errno == EEXIST ? 0 : errno;
}

/* A second `enter` of the same tenant succeeds: the answer to the first may have been lost. */
static int make_home(const char *home, uid_t uid)
{
	struct stat facts;

	if (mkdir(home, 0700) && errno != EEXIST)
		return errno;
	if (lstat(home, &facts))
		return errno;
	if (!S_ISDIR(facts.st_mode) || (facts.st_uid != geteuid() && facts.st_uid != uid))
		return EEXIST;
	return facts.st_uid != uid && lchown(home, uid, uid) ? errno : 0;
}

static int enter(struct stream *stream, struct reader *arguments)
{
	const char *home;
	uid_t uid;
	int error = read_arguments(arguments, &uid, &home);

	if (!error)
		error = make_parent(home);
	if (!error)
		error = make_home(home, uid);
	if (!error)
		stream_result(stream, NULL, 0);
	return error;
}

/* ---- leave */

static void finish(struct leaving *leaving, int error)
{
	struct stream *stream = leaving->stream;

	timer_stop(&leaving->timer);
	if (leaving->is_due) {
		deadline_user_ended(leaving->uid, !error);
	} else if (!error) {
		deadline_forget(leaving->uid);
		execs_forget_user(leaving->uid);
		console_forget(leaving->uid);
	}
	free(leaving);
	if (!stream)
		return;
	stream->work = NULL;
	if (error)
		stream_fail(stream, error);
	else
		stream_result(stream, NULL, 0);
}

static int begin_step(struct leaving *leaving)
{
	pid_t pid;

	leaving->last = !children_of(leaving->uid);
	pid = fork();
	if (pid == 0 && leaving->step == STEP_PROCESSES)
		clean_processes(leaving->uid);
	if (pid == 0)
		clean_belongings(leaving->uid, leaving->home);
	if (pid < 0)
		return errno;
	child_add(&leaving->child, pid);
	/* The tenant may stop a child that has just taken its uid; the next child ends that one too. */
	if (leaving->step == STEP_PROCESSES)
		timer_set(&leaving->timer, PATIENCE_US);
	return 0;
}

static void go_on(struct leaving *leaving)
{
	int error = begin_step(leaving);

	if (error)
		finish(leaving, error);
}

static void again(struct leaving *leaving)
{
	if (++leaving->rounds == ROUNDS_MAX)
		finish(leaving, EBUSY);
	else
		timer_set(&leaving->timer, PAUSE_US);
}

static void on_timer(struct timer *timer)
{
	struct leaving *leaving = container_of(timer, struct leaving, timer);

	child_forget(&leaving->child);
	go_on(leaving);
}

static void on_end(struct child *child)
{
	struct leaving *leaving = container_of(child, struct leaving, child);

	timer_stop(&leaving->timer);
	if (child->status != 0) {
		again(leaving);
	} else if (leaving->step == STEP_BELONGINGS) {
		finish(leaving, rmdir(leaving->home) && errno != ENOENT ? errno : 0);
	} else if (leaving->last && leaving->is_due) {
		finish(leaving, 0);
	} else if (leaving->last) {
		leaving->step = STEP_BELONGINGS;
		go_on(leaving);
	} else {
		again(leaving);
	}
}

void users_end(uid_t uid)
{
	struct leaving *leaving = calloc(1, sizeof(*leaving));

	if (!leaving) {
		deadline_user_ended(uid, false);
		return;
	}
	leaving->uid = uid;
	leaving->is_due = true;
	leaving->child.on_end = on_end;
	leaving->timer.fire = on_timer;
	go_on(leaving);
}

static int leave(struct stream *stream, struct reader *arguments)
{
	struct leaving *leaving = calloc(1, sizeof(*leaving));
	const char *home;
	int error;

	if (!leaving)
		return ENOMEM;
	error = read_arguments(arguments, &leaving->uid, &home);
	if (!error) {
		strcpy(leaving->home, home);
		leaving->child.on_end = on_end;
		leaving->timer.fire = on_timer;
		error = begin_step(leaving);
	}
	if (error) {
		free(leaving);
		return error;
	}
	leaving->stream = stream;
	stream->work = leaving;
	return 0;
}

/* Continues even if nobody waits for the answer. */
static void leave_gone(struct stream *stream)
{
	struct leaving *leaving = stream->work;

	if (leaving)
		leaving->stream = NULL;
}

const struct stream_kind enter_kind = { .open = enter, .not_for_users = true };
const struct stream_kind leave_kind = { .open = leave, .gone = leave_gone, .not_for_users = true };
