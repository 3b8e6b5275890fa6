/* File descriptors. All are close-on-exec; the agent's own ends are non-blocking. */
#ifndef SVC_DESCRIPTORS_H
#define SVC_DESCRIPTORS_H

/* Makes a pipe between the agent and a child; the agent reads from (or writes to) index 0. -1 with errno on failure. */
int pipe_from_child(int ends[2]);
int pipe_to_child(int ends[2]);
/* Closes the descriptor unless it is -1, and sets it to -1. */
void close_end(int *fd);
/* Closes this descriptor and every higher one. For use in a child. */
void descriptors_close_from(int first);
int set_nonblocking(int fd);

#endif
