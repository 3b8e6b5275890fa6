/* The stages of init, the first process inside the namespaces. */
#ifndef SVC_INIT_H
#define SVC_INIT_H

#include "base/failure.h"
#include "base/settings.h"

/* Sentences for the warnings of the spawn, one a line. */
extern char warnings[1024];

/* Builds the root the settings describe and makes it "/": nothing of the old root stays reachable. (root.c) */
int root_build(const struct settings *s);
/* Makes /new an overlay over the image, a host path below /old. Returns 1, 0 when this kernel refuses that, or -1 with
 * `failure` set. With tree=1 the image comes from the store: the sandbox's own files of /etc are added. (root-image.c) */
int root_image(const struct settings *s, const char *image);
/* Mounts a tmpfs bounded in bytes and, because an inode is kernel memory too, in files. Returns 0 or -1 with errno.
 * (root.c) */
int mount_tmpfs(const char *path, uint64_t bytes, const char *mode);
/* Fills /proc, /dev, /dev/pts and /dev/shm under the folder `root`; `old` is the old root. (root-system.c) */
int root_system(const struct settings *s, const char *root, const char *old);
/* Makes a mount and everything below it read-only, without set-uid and devices. (root-bind.c) */
int bind_read_only(const char *source, const char *target);
/* Creates a mount point: a folder with its parents, or an empty file with its parents. (root-bind.c) */
int make_target(const char *path, int is_folder);

/* Brings the loopback interface up. (init-network.c) */
int network_up(void);
/* Changes from uid 0 of the namespace to an ordinary uid in a nested namespace, below which none can be made.
 * (init-user.c) */
int user_enter(const struct settings *s);
/* The same for the VM of a pool (settings pool_uid=, pool_uids=): uid 0 of a namespace that maps as many host uids from
 * pool_uid on, /workspaces (workspaces=<bytes>), and processes that cannot see those of other uids. Needs the host's
 * root. (init-pool.c) */
int pool_enter(const struct settings *s);
/* Applies limits, empties all capability sets, sets no-new-privileges and the system call filter. (lockdown.c) */
int lockdown(const struct settings *s);
/* Replaces the rest of lockdown() where a tracer is the runner (traced=1). (lockdown-traced.c) */
int lockdown_traced(void);
/* Refuses system calls that sandboxed programs do not need and kernels had vulnerabilities in. (lockdown-calls.c) */
int lockdown_calls(void);

#endif
