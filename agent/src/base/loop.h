/* The event loop: one thread, poll(2), nothing in it ever blocks. A watch is asked before every wait what it wants, so
 * nobody has to remember to switch it on or off. */
#ifndef SVC_LOOP_H
#define SVC_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

struct watch {
	int fd;
	/* The events wanted now; 0 keeps the descriptor out of the wait, hang-ups included. */
	short (*want)(struct watch *watch);
	void (*ready)(struct watch *watch, short events);
	struct watch *next, **link; /* link is NULL while it is not added */
	int slot;
};

void watch_add(struct watch *watch);
/* Safe twice, and from within any ready(). The descriptor stays open. */
void watch_remove(struct watch *watch);

struct timer {
	void (*fire)(struct timer *timer);
	uint64_t due;
	struct timer *next, **link;
};

/* Fires once, `us` from now; setting it again moves it. */
void timer_set(struct timer *timer, uint64_t us);
/* Safe twice. */
void timer_stop(struct timer *timer);

/* Waits until something happens, and tells whoever it happened to. */
void loop_turn(void);
/* The next turn does not wait. */
void loop_again(void);

#endif
