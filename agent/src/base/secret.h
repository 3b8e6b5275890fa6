/* The sandbox's secret, kept where forked children cannot read it. */
#ifndef SVC_SECRET_H
#define SVC_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent.h"

/* Stores the secret and erases `secret`. Returns 0, or -1 without memory. */
int secret_keep(uint8_t secret[SECRET_SIZE]);
/* Returns false and changes nothing if it contains a zero byte. */
bool secret_replace(const uint8_t secret[SECRET_SIZE]);
/* Compares in constant time. */
bool secret_equals(const uint8_t candidate[SECRET_SIZE]);

#endif
