/* The sandbox's secret, kept where forked children cannot read it. */
#ifndef SVC_SECRET_H
#define SVC_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent.h"

/* 0, and nothing of it is left in `secret`; or -1 when there is no memory for it. */
int secret_keep(uint8_t secret[SECRET_SIZE]);
/* False, and nothing changed, when it holds a zero byte. */
bool secret_replace(const uint8_t secret[SECRET_SIZE]);
/* In a time that does not depend on where they differ. */
bool secret_equals(const uint8_t candidate[SECRET_SIZE]);

#endif
