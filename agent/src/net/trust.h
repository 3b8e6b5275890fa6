/* Certificates that programs of the sandbox trust because the host says so. */
#ifndef SVC_TRUST_H
#define SVC_TRUST_H

#include "wire/stream.h"

extern const struct stream_kind trust_kind;

#endif
