/* Signals to the foreground of a terminal, where the kernel's terminals send none: under gVisor ^C is a byte like any
 * other, and nobody is told of a new size. */
#ifndef SVC_FOREGROUND_H
#define SVC_FOREGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the terminal of this master needs it. */
bool foreground_is_ours(int master);
/* In the child that has the terminal: leaves a process in its session that signals the foreground as the agent tells it
 * through the pipe `orders`, and goes with the pipe's other end. Without room for it there are no signals. */
void foreground_keep(int orders, int terminal);
/* In the agent. Orders that find no room are lost. */
void foreground_signal(int orders, int number);
/* Drops the lines that wait in the terminal for a reader, as such a key does; `slave` is the agent's own. */
void foreground_flush(int slave);

/* The bytes that are signals on this terminal now; 0: none. */
struct foreground_keys {
	uint8_t interrupt, quit, suspend;
	bool keep_input;
};
struct foreground_keys foreground_keys(int master);
/* The signal that a byte stands for, or 0. */
int foreground_key_signal(const struct foreground_keys *keys, uint8_t byte);

#endif
