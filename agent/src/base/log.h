/* The agent's log: standard error within a rate limit, and a sink that keeps every line. */
#ifndef SVC_LOG_H
#define SVC_LOG_H

#include <stddef.h>

typedef void log_sink(const char *source, const char *line, size_t size);

/* Sends every later line to the sink, even if standard error cannot take it. */
void log_set_sink(log_sink *sink);
void log_line(const char *words, ...) __attribute__((format(printf, 1, 2)));

#endif
