/* The agent's own words: to the console ring, and to standard error as far as a bound allows. */
#ifndef SVC_SAY_H
#define SVC_SAY_H

void say(const char *words, ...) __attribute__((format(printf, 1, 2)));

#endif
