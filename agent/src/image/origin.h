/* Which entry of which layer each inode of a tree comes from: the owners of a disk are found by it. A layer's path does not
 * say where a link of a lower layer put the file, and removed folders leave their numbers to others: so inodes are named,
 * and the last record of one counts. */
#ifndef SVC_IMAGE_ORIGIN_H
#define SVC_IMAGE_ORIGIN_H

#include "image/records.h"

/* Notes are taken only where RECORDS_FD is a file: somebody reads them. */
void origin_begin(void);
/* Adds `record`, with the inode of a name in `folder` (the folder itself for "") as its size and the layer as its uid. */
int origin_note(struct record *record, int folder, const char *name, unsigned layer);

#endif
