/* The reason of a failure: set where it happens, printed once by the function that gives up. */
#ifndef SVC_FAILURE_H
#define SVC_FAILURE_H

/* The reason that the last fail() kept. */
extern char failure[1024];
/* Keeps "<words>: <text of errno>" (words alone when errno is 0) and returns -1. */
int fail(const char *words, ...) __attribute__((format(printf, 1, 2)));

#endif
