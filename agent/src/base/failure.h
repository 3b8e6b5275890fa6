/* Why something failed, in words: set where it fails, printed once by whoever gives up. */
#ifndef SVC_FAILURE_H
#define SVC_FAILURE_H

/* The reason that fail() kept last. */
extern char failure[1024];
/* Keeps "<words>: <text of errno>" (words alone when errno is 0) and returns -1. */
int fail(const char *words, ...) __attribute__((format(printf, 1, 2)));

#endif
