/* Sends signals to the foreground of a terminal where the kernel does not: under gVisor ^C is an ordinary byte, and no
 * process learns of a new size. */
#ifndef SVC_FOREGROUND_H
#define SVC_FOREGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the terminal of this master needs it. */
bool foreground_is_ours(int master);
/* Call in the child that has the terminal: leaves a process in its session that signals the foreground on the agent's
 * orders from the pipe `orders`, and ends when the other end of the pipe closes. If it cannot be forked, there are no
 * signals. */
void foreground_keep(int orders, int terminal);
/* Call in the agent. An order that does not fit into the pipe is lost. */
void foreground_signal(int orders, int number);
/* Discards the input lines that the terminal buffers, as such a key does; `slave` is the agent's own descriptor. */
void foreground_flush(int slave);

/* Returns the bytes that are signals on this terminal now; 0: none. */
struct foreground_keys {
	uint8_t interrupt, quit, suspend;
	bool keep_input;
};
struct foreground_keys foreground_keys(int master);
/* Returns the signal that a byte stands for, or 0. */
int foreground_key_signal(const struct foreground_keys *keys, uint8_t byte);

#endif
