/* `svc-agent unpack`: layers of container images become folders of the image store, and trees of them. */
#ifndef SVC_IMAGE_H
#define SVC_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/tar.h"

/* Descriptors that the server hands over. */
#define TARGET_FD 3
#define RECORDS_FD 4

/* Names that lie in each other. Removing and merging hold descriptors for each. */
#define DEPTH_MAX 256
#define NAME_BYTES 255
/* The path of a folder. The server puts the path of its store before it, and the kernel takes 4,096 bytes: what is longer
 * could be made here, and then neither read nor removed. */
#define FOLDER_PATH_MAX 3072
#define LINKS_MAX 40
/* Begins the name of an entry that removes the rest of it from lower layers. OCI image specification, "Whiteouts" */
#define WHITEOUT ".wh."

struct unpack_options {
	uint64_t max_bytes, max_entries;
	uint64_t max_record_bytes;  /* names and attributes of all entries */
	uid_t uid;                  /* who owns the store, when the server is root */
};

/* Confines the process for good to the folder that is open as TARGET_FD, which becomes its root: the store's uid, no
 * capability, limits, and a list of allowed system calls. (confine.c) */
int confine(const struct unpack_options *options);
/* Allows the calls of unpacking and merging alone. (confine-calls.c) */
int confine_calls(void);

/* Makes the parent of a path of the archive the working folder, through the links of the archive, and missing folders.
 * `*name` is the last name of the path, empty for the root. (place.c) */
int place_enter(const char *path, const char **name);
/* The same without making anything: -1 with ENOENT where there is no such folder. (place.c) */
int place_find(const char *path, const char **name);
/* Forgets what it knows of folders: something was removed or replaced. (place.c) */
void place_forget(void);
/* The path of the working folder without links, "" for the root, and the path of a name in it. Valid until the next call
 * of either. (place.c) */
const char *place_path(const char *name);

/* Removes a name in a folder and all below it, without following links. 0 when there is none. (remove.c) */
int remove_name(int folder, const char *name);
/* Removes everything in an open folder, which it closes. (remove.c) */
int empty_folder(int folder);

/* What is counted, for the summary on standard output. */
struct counts {
	uint64_t entries, files, folders, links, devices, whiteouts, opaque, bytes;
};
/* (entry.c) */
int entry_make(struct tar *tar, const struct tar_entry *entry, struct counts *counts, uint64_t max_bytes);

/* `svc-agent unpack --merge`, once the arguments are read and the process is confined: merges the folders `layers`, the
 * lowest first, into the empty folder `tree`. (merge.c) */
int merge(const char *tree, char *const *layers, size_t count);
/* Copies a file or link to the same name in another folder. (merge-own.c) */
int copy_name(int from, int to, const char *name);
/* The mount points and files that every sandbox needs. (merge-own.c) */
int merge_own(int tree);

#endif
