/* Answers of the gate's name service. RFC 1035 */
#ifndef SVC_NAME_PACKET_H
#define SVC_NAME_PACKET_H

#include <stddef.h>
#include <stdint.h>

/* Longer questions are dropped, and no answer is longer. */
#define NAME_PACKET_MAX 1232

/* Writes the answer to one question and returns its size; 0: none is due. Every name has an address; nothing is looked
 * up. */
size_t name_answer(const uint8_t *question, size_t size, uint8_t answer[NAME_PACKET_MAX]);

#endif
