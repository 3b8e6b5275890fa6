/* The event loop: one thread and poll(2); no handler blocks. The loop asks each watch before every wait which events it
 * wants, so no caller has to enable or disable one. */
#ifndef SVC_LOOP_H
#define SVC_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

struct watch {
	int fd;
	/* Returns the events wanted now; 0 leaves the descriptor out of the wait, hang-ups included. */
	short (*want)(struct watch *watch);
	void (*ready)(struct watch *watch, short events);
	struct watch *next, **link; /* NULL while the watch is not added */
	int slot;
};

void watch_add(struct watch *watch);
/* Removes the watch; the descriptor stays open. Idempotent, and allowed within any ready(). */
void watch_remove(struct watch *watch);

struct timer {
	void (*fire)(struct timer *timer);
	uint64_t due;
	struct timer *next, **link;
};

/* Fires once after `us`; setting a timer again moves it. */
void timer_set(struct timer *timer, uint64_t us);
/* Safe twice. */
void timer_stop(struct timer *timer);

/* Waits for events or timers and dispatches them. */
void loop_turn(void);
/* Makes the next turn return without waiting. */
void loop_again(void);

#endif
