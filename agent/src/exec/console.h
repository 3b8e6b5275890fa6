/* The console of the sandbox: lines `<time> <source> <text>`, the last MiB of them. In a pool each tenant has a smaller
 * one for the output of its detached execs. */
#ifndef SVC_CONSOLE_H
#define SVC_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/stream.h"

#define CONSOLE_LINE 1024 /* bytes of text in one line; longer text is split */

/* Adds one line, without its newline, to the console of the sandbox. */
void console_add(const char *source, const char *text, size_t size);
/* A tenant has left: frees its console when its last reader closes. */
void console_forget(uid_t uid);

/* Splits one output into lines. */
struct console_lines {
	uid_t uid; /* the tenant whose console it is for; 0: the sandbox's */
	size_t size;
	char text[CONSOLE_LINE];
};

void console_feed(struct console_lines *lines, const char *source, const uint8_t *bytes, size_t size);
/* Adds the rest of an output that did not end with a newline. */
void console_flush(struct console_lines *lines, const char *source);

extern const struct stream_kind console_kind;

#endif
