/* Deadlines on CLOCK_BOOTTIME, which continues while the machine sleeps and cannot be set. Times travel as milliseconds
 * left, because the clocks of host and sandbox need not agree. */
#define _GNU_SOURCE
#include "exec/deadline.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "exec/users.h"

#define NO_END UINT64_MAX
/* How much later than the agent the kernel ends it. */
#define LAST_MS 100
#define LONGEST_MS (10ULL * 366 * 24 * 3600 * 1000)
#define AGAIN_MS 1000
#define NS_PER_MS 1000000
#define MS_PER_S 1000

struct deadline {
	struct deadline *next;
	uid_t uid; /* 0: the entire sandbox */
	uint64_t due; /* ms of the clock */
	bool ending;
};

static struct deadline *deadlines;
static size_t count;
static struct watch alarm_watch = { .fd = -1 };
static clockid_t clock_id = CLOCK_BOOTTIME;
static timer_t last;
static bool has_last;
static bool passed;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(clock_id, &now);
	return (uint64_t)now.tv_sec * MS_PER_S + (uint64_t)now.tv_nsec / NS_PER_MS;
}

static void set_time(struct itimerspec *time, uint64_t left_ms)
{
	time->it_value.tv_sec = (time_t)(left_ms / MS_PER_S);
	time->it_value.tv_nsec = (long)(left_ms % MS_PER_S * NS_PER_MS) + 1;
}

/* The kernel's own timer also ends an agent that was stopped: a root user of gVisor's kernel can stop process 1. Linux
 * lets nobody inside stop it, and ignores this signal to it. */
static void arm_last(uint64_t now)
{
	const struct deadline *own = deadlines;
	struct itimerspec time = { 0 };

	while (own && own->uid != 0)
		own = own->next;
	if (own)
		set_time(&time, (own->due > now ? own->due - now : 0) + LAST_MS);
	if (has_last)
		timer_settime(last, 0, &time, NULL);
}

/* Sets the alarm for the nearest deadline; a time that is over fires at once. */
static int arm(void)
{
	struct itimerspec alarm = { 0 };
	uint64_t nearest = NO_END, now = now_ms();

	for (const struct deadline *one = deadlines; one; one = one->next)
		if (!one->ending && one->due < nearest)
			nearest = one->due;
	if (nearest != NO_END)
		set_time(&alarm, nearest > now ? nearest - now : 0);
	arm_last(now);
	return timerfd_settime(alarm_watch.fd, 0, &alarm, NULL);
}

static struct deadline **find(uid_t uid)
{
	struct deadline **at = &deadlines;

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

static void forget(struct deadline **at)
{
	struct deadline *old = *at;

	if (!old)
		return;
	*at = old->next;
	free(old);
	count--;
}

static int set(uid_t uid, uint64_t left_ms)
{
	struct deadline **at = find(uid);

	if (*at && (*at)->ending)
		return EBUSY;
	if (left_ms == NO_END) {
		forget(at);
		return arm() ? errno : 0;
	}
	if (left_ms > LONGEST_MS)
		return EINVAL;
	if (!*at) {
		struct deadline *new = count < DEADLINES_MAX ? calloc(1, sizeof(*new)) : NULL;

		if (!new)
			return count < DEADLINES_MAX ? ENOMEM : EAGAIN;
		new->uid = uid;
		*at = new;
		count++;
	}
	(*at)->due = now_ms() + left_ms;
	return arm() ? errno : 0;
}

static void end(struct deadline *deadline)
{
	if (deadline->uid == 0) {
		passed = true;
		return;
	}
	deadline->ending = true;
	users_end(deadline->uid);
}

static short want(struct watch *watch)
{
	(void)watch;
	return POLLIN;
}

static void ready(struct watch *watch, short events)
{
	uint64_t expirations, now = now_ms();
	struct deadline *next;

	(void)events;
	if (read(watch->fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return;
	for (struct deadline *one = deadlines; one; one = next) {
		next = one->next;
		if (!one->ending && one->due <= now)
			end(one);
	}
	if (!passed)
		arm();
}

int deadline_init(uint64_t life_ms)
{
	struct sigevent kill = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };

	alarm_watch = (struct watch){ .want = want, .ready = ready };
	alarm_watch.fd = timerfd_create(clock_id, TFD_CLOEXEC | TFD_NONBLOCK);
	if (alarm_watch.fd < 0 && errno == EINVAL) {
		clock_id = CLOCK_MONOTONIC;
		alarm_watch.fd = timerfd_create(clock_id, TFD_CLOEXEC | TFD_NONBLOCK);
	}
	if (alarm_watch.fd < 0)
		return -1;
	has_last = timer_create(clock_id, &kill, &last) == 0;
	watch_add(&alarm_watch);
	errno = life_ms ? set(0, life_ms) : 0;
	return errno ? -1 : 0;
}

bool deadline_has_passed(void)
{
	return passed;
}

void deadline_forget(uid_t uid)
{
	forget(find(uid));
	arm();
}

void deadline_user_ended(uid_t uid, bool is_done)
{
	struct deadline **at = find(uid);

	if (!*at)
		return;
	if (is_done) {
		log_line("the time of tenant %u is over; its processes have ended", (unsigned)uid);
		forget(at);
		return;
	}
	(*at)->ending = false;
	(*at)->due = now_ms() + AGAIN_MS;
	arm();
}

static int set_deadline(struct stream *stream, struct reader *arguments)
{
	uint64_t left_ms = read_u64(arguments);
	int error;

	if (!reader_done(arguments))
		return EINVAL;
	error = set(stream->uid, left_ms);
	if (!error)
		stream_result(stream, NULL, 0);
	return error;
}

const struct stream_kind deadline_kind = { .open = set_deadline };
