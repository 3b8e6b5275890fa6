/* The agent's log: standard error as far as a bound allows, and a sink that keeps every line. */
#ifndef SVC_LOG_H
#define SVC_LOG_H

#include <stddef.h>

typedef void log_sink(const char *source, const char *line, size_t size);

/* Every later line goes to the sink, too, whether or not standard error can take it. */
void log_set_sink(log_sink *sink);
void log_line(const char *words, ...) __attribute__((format(printf, 1, 2)));

#endif
