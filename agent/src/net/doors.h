/* The listeners of a transparent gate: one for each port that leads outside, on every address. */
#ifndef SVC_DOORS_H
#define SVC_DOORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/gate-space.h"

#define PORTS_MAX 64

/* Takes the sockets of the gate, and answers questions for names from now on. Once. */
void doors_take(const int sockets[GATE_SOCKETS]);
/* Returns whether there is a gate. */
bool doors_exist(void);
/* Listens on exactly these ports; listeners that stay keep what waits in them. Returns how many could not be had, which
 * `missing` then names. */
uint16_t doors_open(const uint16_t *ports, uint16_t count, uint16_t missing[PORTS_MAX]);

#endif
