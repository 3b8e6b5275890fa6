/* The agent's clocks; they need neither locale nor time zone files. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define DAY_MS 86400000ULL
#define LAST_YEAR_MS 253402300799999ULL /* 9999-12-31T23:59:59.999Z */

uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t wall_ms(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) || now.tv_sec < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Converts days since 1970 to a Gregorian date. Years start in March, so that the leap day is the last day of a
 * year. */
void iso_time(uint64_t ms, char text[ISO_SIZE])
{
	uint64_t shown = ms > LAST_YEAR_MS ? LAST_YEAR_MS : ms;
	unsigned in_day = (unsigned)(shown % DAY_MS);
	unsigned days = (unsigned)(shown / DAY_MS) + 719468;
	unsigned era = days / 146097, in_era = days % 146097;
	unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153, day = in_year - (153 * month + 2) / 5 + 1;
	unsigned civil_month = month < 10 ? month + 3 : month - 9;
	unsigned civil_year = era * 400 + year + (civil_month <= 2);

	snprintf(text, ISO_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", civil_year % 10000, civil_month % 100, day % 100,
		in_day / 3600000 % 100, in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000);
}
