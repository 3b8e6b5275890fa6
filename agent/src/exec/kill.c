/* Ends an exec. A pid found in /proc could in theory be reused before the signal; all pids would have to be used once
 * in that moment. */
#define _GNU_SOURCE
#include "exec/kill.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/user.h"

#define TERM_US 2000000
/* Most processes are stopped after one scan. A traced process may never be, nor one whose tenant stops the process that
 * signals it. */
#define FREEZE_US 200000
#define FIRST_FREEZE_US 500
#define LAST_FREEZE_US 16000
#define QUIET_LOOKS 2
#define FIRST_LOOK_US 10000
#define LAST_LOOK_US 640000
#define EVERYTHING_ROUNDS 50

int kill_group(const struct child *leader, int number)
{
	if (user_kill(leader->uid, -leader->pid, number) == 0)
		return 0;
	return errno == ESRCH ? user_kill(leader->uid, leader->pid, number) : -1;
}

static int by_number(const void *left, const void *right)
{
	const pid_t *one = left, *other = right;

	return (*one > *other) - (*one < *other);
}

/* Each once. */
static void signal_targets(const struct kill *kill, pid_t *targets, size_t count, int number)
{
	size_t kept = 0;

	if (count == 0 || number == 0)
		return;
	qsort(targets, count, sizeof(*targets), by_number);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || targets[kept - 1] != targets[i])
			targets[kept++] = targets[i];
	user_kill_each(kill->leader->uid, targets, kept, number);
}

/* Sends `number` (0: nothing) to every live process of the exec; SIGSTOP only to those that are not stopped. Returns
 * how many they are. */
static size_t signal_all(struct kill *kill, int number)
{
	struct processes all = { 0 };
	size_t count = 0;
	pid_t *targets;

	if (exec_tree_scan(&kill->tree, &all))
		return kill->leader->ended ? 0 : 1;
	targets = calloc(all.count + 1, sizeof(*targets));
	for (size_t i = 0; targets && i < all.count; i++)
		if (all.at[i].marked && all.at[i].alive && !(number == SIGSTOP && all.at[i].stopped))
			targets[count++] = exec_tree_signal_target(&kill->tree, &all.at[i]);
	if (targets)
		signal_targets(kill, targets, count, number);
	count = targets ? count : 1;
	free(targets);
	processes_free(&all);
	return count;
}

static void finish(struct kill *kill)
{
	timer_stop(&kill->timer);
	kill->active = false;
	exec_tree_free(&kill->tree);
	kill->done(kill);
}

static void look_later(struct kill *kill, uint64_t first, uint64_t last)
{
	uint64_t pause = first << (kill->looks < 6 ? kill->looks : 6);

	kill->looks++;
	timer_set(&kill->timer, pause < last ? pause : last);
}

static void begin(struct kill *kill, enum kill_stage stage)
{
	kill->stage = stage;
	kill->looks = 0;
}

static void force(struct kill *kill)
{
	kill_group(kill->leader, SIGKILL);
	if (signal_all(kill, SIGKILL) == 0 && kill->leader->ended)
		finish(kill);
	else
		look_later(kill, FIRST_LOOK_US, LAST_LOOK_US);
}

static void wait_on(struct kill *kill)
{
	uint64_t now = now_us(), left = kill->force_at > now ? kill->force_at - now : 0;

	if (!kill->leader->ended)
		timer_set(&kill->timer, left);
	else if (signal_all(kill, 0) == 0)
		finish(kill);
	else
		look_later(kill, FIRST_LOOK_US, left < LAST_LOOK_US ? left : LAST_LOOK_US);
}

static void ask(struct kill *kill)
{
	kill->asked = true;
	begin(kill, KILL_WAITS);
	kill_group(kill->leader, SIGTERM);
	/* A stopped process handles the signal only when it continues. */
	kill_group(kill->leader, SIGCONT);
	signal_all(kill, SIGCONT);
	wait_on(kill);
}

/* A stopped process has no new children. A second scan sees what it forked before. */
static void freeze(struct kill *kill)
{
	bool quiet = signal_all(kill, SIGSTOP) == 0;

	kill->quiet = quiet ? kill->quiet + 1 : 0;
	if (kill->quiet < QUIET_LOOKS && now_us() < kill->frozen_by) {
		look_later(kill, quiet ? 0 : FIRST_FREEZE_US, LAST_FREEZE_US);
	} else if (kill->asked) {
		begin(kill, KILL_FORCES);
		force(kill);
	} else {
		ask(kill);
	}
}

static void begin_freeze(struct kill *kill)
{
	begin(kill, KILL_FREEZES);
	kill->quiet = 0;
	kill->frozen_by = now_us() + FREEZE_US;
	/* The kernel stops a group atomically: a fork in progress fails. fork(2) */
	kill_group(kill->leader, SIGSTOP);
	freeze(kill);
}

static void on_timer(struct timer *timer)
{
	struct kill *kill = container_of(timer, struct kill, timer);

	if (kill->stage == KILL_FREEZES)
		freeze(kill);
	else if (kill->stage == KILL_FORCES)
		force(kill);
	else if (now_us() >= kill->force_at)
		begin_freeze(kill);
	else
		wait_on(kill);
}

void kill_start(struct kill *kill)
{
	if (kill->active)
		return;
	kill->active = true;
	kill->asked = false;
	kill->timer.fire = on_timer;
	kill->tree.leader = kill->leader->pid;
	kill->force_at = now_us() + TERM_US;
	begin_freeze(kill);
}

void kill_look(struct kill *kill)
{
	if (kill->active && kill->stage == KILL_WAITS)
		timer_set(&kill->timer, 0);
}

static size_t kill_descendants(void)
{
	struct processes all = { 0 };
	size_t killed = 0;
	bool found = true;

	if (processes_read(&all))
		return 0;
	while (found) {
		found = false;
		for (size_t i = 0; i < all.count; i++) {
			struct process *process = &all.at[i];
			const struct process *parent = processes_find(&all, process->parent);

			if (process->marked || !(process->parent == getpid() || (parent && parent->marked)))
				continue;
			found = process->marked = true;
			if (process->alive && kill(process->pid, SIGKILL) == 0)
				killed++;
		}
	}
	processes_free(&all);
	return killed;
}

void kill_everything(void)
{
	if (getpid() == 1) {
		kill(-1, SIGKILL);
		return;
	}
	for (int i = 0; i < EVERYTHING_ROUNDS && kill_descendants() > 0; i++)
		usleep(1000);
}
