/* Terminals of execs. */
#ifndef SVC_PTY_H
#define SVC_PTY_H

#include <stdint.h>

#define PTY_NAME 32

/* A new terminal: the non-blocking master, or -1 with errno; the name of the slave. Sizes of 0 are left alone. */
int pty_open(uint16_t rows, uint16_t cols, char name[PTY_NAME]);
/* The slave, for the agent to hold while the program runs: a program that closes its terminal just before it ends would
 * otherwise seem at its end, and be hung up on by the closing of the master. -1 with errno. */
int pty_hold(const char *name);
/* -1 with errno. */
int pty_resize(int master, uint16_t rows, uint16_t cols);
/* In the child, which leads its session: makes the terminal its own and its standard descriptors. */
int pty_take(const char *name);
/* What ends the input of a program that reads lines. */
uint8_t pty_end_character(int master);

#endif
