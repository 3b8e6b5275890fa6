/* The agent's clocks: monotonic for durations and deadlines, wall clock for what people read. */
#ifndef SVC_CLOCK_H
#define SVC_CLOCK_H

#include <stdint.h>

#define ISO_SIZE 25 /* "2026-01-02T03:04:05.678Z" and a NUL */

uint64_t now_us(void);
uint64_t wall_ms(void);
/* UTC, computed here: gmtime() of a C library reads files of the image. */
void iso_time(uint64_t ms, char text[ISO_SIZE]);

#endif
