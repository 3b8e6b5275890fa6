/* Terminals of execs. */
#ifndef SVC_PTY_H
#define SVC_PTY_H

#include <stdint.h>

#define PTY_NAME 32

/* Creates a terminal: returns the non-blocking master, or -1 with errno; stores the name of the slave. Sizes of 0 are
 * not set. */
int pty_open(uint16_t rows, uint16_t cols, char name[PTY_NAME]);
/* Opens the slave for the agent to hold while the program runs: otherwise a program that closes its terminal just
 * before it ends would seem to have ended, and closing the master would hang up on it. -1 with errno. */
int pty_hold(const char *name);
/* Returns -1 with errno on failure. */
int pty_resize(int master, uint16_t rows, uint16_t cols);
/* Call in the child, which leads its session: makes the terminal its controlling terminal and its standard
 * descriptors. */
int pty_take(const char *name);
/* The byte that ends the input of a program that reads lines. */
uint8_t pty_end_character(int master);

#endif
