/* Ending an exec. Whoever is found in /proc and signalled a moment later could in theory be another by then; the numbers
 * would have to come around once in that moment. */
#define _GNU_SOURCE
#include "kill.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "moment.h"
#include "processes.h"
#include "user.h"

#define TERM_US 2000000
#define FIRST_LOOK_US 10000
#define LAST_LOOK_US 640000
#define FREE_LOOKS 3
#define EVERYTHING_ROUNDS 50

int kill_group(const struct child *leader, int number)
{
	if (user_kill(leader->uid, -leader->pid, number) == 0)
		return 0;
	return errno == ESRCH ? user_kill(leader->uid, leader->pid, number) : -1;
}

static bool knows_session(const struct kill *kill, pid_t session)
{
	for (size_t i = 0; i < kill->session_count; i++)
		if (kill->sessions[i] == session)
			return true;
	return false;
}

static void keep_session(struct kill *kill, pid_t session)
{
	/* A process that was just forked may still be in ours. */
	if (session <= 0 || session == getsid(0) || knows_session(kill, session))
		return;
	if (kill->session_count < KILL_SESSIONS)
		kill->sessions[kill->session_count++] = session;
}

static bool is_marked(const struct processes *all, pid_t pid)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->at[i].pid == pid)
			return all->at[i].marked;
	return false;
}

/* Marks one more generation; false when there is none. */
static bool mark_more(struct kill *kill, struct processes *all)
{
	bool found = false;

	for (size_t i = 0; i < all->count; i++) {
		struct process *process = &all->at[i];

		if (process->marked || process->pid == getpid())
			continue;
		process->marked = process->pid == kill->leader->pid || knows_session(kill, process->session) ||
			is_marked(all, process->parent);
		if (process->marked)
			keep_session(kill, process->session);
		found |= process->marked;
	}
	return found;
}

/* Sends `number` (0: nothing) to all that belong to the exec; how many are alive, the leader among them. */
static size_t signal_all(struct kill *kill_plan, int number)
{
	struct processes all = { 0 };
	size_t alive = 0;
	pid_t *found;

	if (processes_read(&all))
		return kill_plan->leader->ended ? 0 : 1;
	while (mark_more(kill_plan, &all))
		;
	found = calloc(all.count + 1, sizeof(*found));
	for (size_t i = 0; found && i < all.count; i++)
		if (all.at[i].marked && all.at[i].alive)
			found[alive++] = all.at[i].pid;
	if (found && number)
		user_kill_each(kill_plan->leader->uid, found, alive, number);
	alive = found ? alive : 1;
	free(found);
	processes_free(&all);
	return alive;
}

static void finish(struct kill *kill)
{
	kill_stop(kill);
	kill->done(kill);
}

static void look_later(struct kill *kill)
{
	uint64_t pause = FIRST_LOOK_US << (kill->rounds < 6 ? kill->rounds : 6);

	kill->rounds++;
	timer_set(&kill->timer, pause < LAST_LOOK_US ? pause : LAST_LOOK_US);
}

static void force(struct kill *kill)
{
	if (!kill->forced)
		kill->rounds = 0;
	kill->forced = true;
	kill_group(kill->leader, SIGKILL);
	if (signal_all(kill, SIGKILL) == 0 && kill->leader->ended)
		finish(kill);
	else
		look_later(kill);
}

static void on_timer(struct timer *timer)
{
	struct kill *kill = container_of(timer, struct kill, timer);
	uint64_t now = now_us();

	if (kill->forced || now >= kill->force_at)
		force(kill);
	else if (kill->leader->ended && signal_all(kill, 0) == 0)
		finish(kill);
	else
		timer_set(timer, kill->force_at - now);
}

void kill_start(struct kill *kill)
{
	if (kill->active)
		return;
	kill->active = true;
	kill->forced = false;
	kill->rounds = 0;
	kill->timer.fire = on_timer;
	kill->session_count = 0;
	keep_session(kill, kill->leader->pid);
	kill->force_at = now_us() + TERM_US;
	/* Who belongs to it is seen best while all are alive. */
	signal_all(kill, 0);
	kill_group(kill->leader, SIGTERM);
	/* A stopped process takes the signal only when it goes on. */
	kill_group(kill->leader, SIGCONT);
	timer_set(&kill->timer, TERM_US);
	kill_look(kill);
}

void kill_look(struct kill *kill)
{
	uint64_t pause = kill->rounds < FREE_LOOKS ? 0 : FIRST_LOOK_US;

	if (!kill->active || !kill->leader->ended || kill->forced)
		return;
	if (kill->timer.due <= now_us() + pause)
		return;
	kill->rounds++;
	timer_set(&kill->timer, pause);
}

void kill_stop(struct kill *kill)
{
	timer_stop(&kill->timer);
	kill->active = false;
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

			if (process->marked || !(process->parent == getpid() || is_marked(&all, process->parent)))
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
