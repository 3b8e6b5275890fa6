/* The event loop. A handler may add and remove any watch, its own included, while the loop dispatches. */
#define _GNU_SOURCE
#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"

/* More than the execs (execs.h), file streams, file calls and connections can use together. */
#define POLLED_MAX 4096

static struct watch *watches;
static struct timer *timers; /* sorted, the earliest first */
static struct pollfd polled[POLLED_MAX];
static struct watch *owners[POLLED_MAX];
static bool again;

void watch_add(struct watch *watch)
{
	if (watch->link)
		return;
	watch->slot = -1;
	watch->next = watches;
	watch->link = &watches;
	if (watches)
		watches->link = &watch->next;
	watches = watch;
}

void watch_remove(struct watch *watch)
{
	if (!watch->link)
		return;
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
	watch->link = NULL;
	if (watch->slot >= 0)
		owners[watch->slot] = NULL;
}

void timer_stop(struct timer *timer)
{
	if (!timer->link)
		return;
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->link = NULL;
}

void timer_set(struct timer *timer, uint64_t us)
{
	struct timer **at = &timers;

	timer_stop(timer);
	timer->due = now_us() + us;
	while (*at && (*at)->due <= timer->due)
		at = &(*at)->next;
	timer->next = *at;
	timer->link = at;
	if (timer->next)
		timer->next->link = &timer->next;
	*at = timer;
}

static void fire_timers(void)
{
	uint64_t now = timers ? now_us() : 0;

	while (timers && timers->due <= now) {
		struct timer *timer = timers;

		timer_stop(timer);
		timer->fire(timer);
	}
}

static nfds_t gather(void)
{
	nfds_t count = 0;

	for (struct watch *watch = watches; watch; watch = watch->next) {
		short events = count < POLLED_MAX ? watch->want(watch) : 0;

		watch->slot = -1;
		if (!events)
			continue;
		watch->slot = (int)count;
		owners[count] = watch;
		polled[count] = (struct pollfd){ .fd = watch->fd, .events = events };
		count++;
	}
	return count;
}

static const struct timespec *patience(struct timespec *time)
{
	uint64_t now = now_us(), us = 0;

	if (!again && !timers)
		return NULL;
	if (!again && timers->due > now)
		us = timers->due - now;
	time->tv_sec = (time_t)(us / 1000000);
	time->tv_nsec = (long)(us % 1000000) * 1000;
	return time;
}

void loop_turn(void)
{
	struct timespec time;
	nfds_t count = gather();
	int left = ppoll(polled, count, patience(&time), NULL);

	again = false;
	for (nfds_t i = 0; i < count && left > 0; i++) {
		if (!polled[i].revents)
			continue;
		left--;
		if (owners[i])
			owners[i]->ready(owners[i], polled[i].revents);
	}
	fire_timers();
}

void loop_again(void)
{
	again = true;
}
