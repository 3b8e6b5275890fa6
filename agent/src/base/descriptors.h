/* Descriptors as the agent makes them: all close-on-exec, its own ends non-blocking. */
#ifndef SVC_DESCRIPTORS_H
#define SVC_DESCRIPTORS_H

/* A pipe of which the agent reads (or writes) one end and a child has the other. Index 0 is ours. -1 with errno. */
int pipe_from_child(int ends[2]);
int pipe_to_child(int ends[2]);
/* Closes what is not -1, and makes it -1. */
void close_end(int *fd);
/* Closes every descriptor from this one on; in a child. */
void descriptors_close_from(int first);
int set_nonblocking(int fd);

#endif
