/* The stages of init, the first process inside the namespaces. */
#ifndef SVC_INIT_H
#define SVC_INIT_H

#include "base/failure.h"
#include "base/settings.h"

/* Sentences for the spawn's warnings, one a line. */
extern char warnings[1024];

/* Builds the root the settings describe and makes it "/": nothing of the old root stays reachable. (root.c) */
int root_build(const struct settings *s);
/* A tmpfs bounded in bytes and, since an inode is kernel memory too, in files. 0 or -1 with errno. (root.c) */
int mount_tmpfs(const char *path, uint64_t bytes, const char *mode);
/* Fills /proc, /dev, /dev/pts and /dev/shm under the folder `root`; `old` is where the old root is. (root-system.c) */
int root_system(const struct settings *s, const char *root, const char *old);
/* Makes a mount and all below it read-only, without set-uid and devices. (root-bind.c) */
int bind_read_only(const char *source, const char *target);
/* mkdir -p of a folder, or of an empty file's parents and the file, to mount on. (root-bind.c) */
int make_target(const char *path, int is_folder);

/* The loopback interface up. (init-network.c) */
int network_up(void);
/* Leaves uid 0 of the namespace for an ordinary uid in a namespace of its own, the last that can be made.
 * (init-user.c) */
int user_enter(const struct settings *s);
/* The same for the VM of a pool (settings pool_uid=, pool_uids=): uid 0 of a namespace that maps so many host uids from
 * there on, /workspaces (workspaces=<bytes>), and processes that see none of other uids. Needs the host's root.
 * (init-pool.c) */
int pool_enter(const struct settings *s);
/* Limits, no capability in any set, no new privileges, the system call filter. (lockdown.c) */
int lockdown(const struct settings *s);
/* Instead of the rest of lockdown() where a tracer is the runner (traced=1). (lockdown-traced.c) */
int lockdown_traced(void);
/* Refuses the system calls that no sandboxed program needs and kernels had faults in. (lockdown-calls.c) */
int lockdown_calls(void);

#endif
