/* The folders of a layer that no entry names; the walk asks for each folder. */
#ifndef SVC_IMAGE_IMPLIED_H
#define SVC_IMAGE_IMPLIED_H

#include <stdbool.h>

/* Notes what a record says of a folder: the last one counts. -1 without memory. */
int implied_note(const char *path, bool is_implied);
bool implied_has(const char *path);
void implied_clear(void);

#endif
