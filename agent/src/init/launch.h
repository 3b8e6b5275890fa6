/* What launch and init agree on. Descriptors are fixed, so that no runner needs to be told about them. */
#ifndef SVC_LAUNCH_H
#define SVC_LAUNCH_H

#include <sys/types.h>

#include "base/failure.h"
#include "base/settings.h"

#define LISTEN_FD 3  /* the listening socket that serve() takes */
#define CONTROL_FD 4 /* SOCK_SEQPACKET pair between launch and init; closed before anything of a guest runs */

/* Packets on CONTROL_FD. launch → init: the settings, then GO. init → launch: HELLO first thing, then READY with
 * warnings (one a line) or FAILED with the reason. An init whose launcher dies before GO ends itself. */
#define PACKET_HELLO 'H'
#define PACKET_READY 'R'
#define PACKET_FAILED 'F'
#define PACKET_GO 'G'
#define PACKET_MAX 2048

/* Options of a sandbox's devpts. The kernel has a few thousand terminals for all: without a bound one sandbox takes them
 * from the others. */
#define TERMINALS "newinstance,ptmxmode=0666,mode=0620,max=256"

/* Everything the child of launch does before it becomes the runner. */
/* Starts the sandbox that the settings describe. 0, and `answer` holds a line a warning; or 1, and it holds the reason:
 * then nothing of the runtime is left but the run folder. SIGTERM makes it give up. (launch.c) */
int launch(const struct settings *settings, char *answer, size_t size);

struct start {
	const struct settings *settings;
	int listen_fd, control_fd, output_fd;
	uid_t uid;
	gid_t gid;
	int drop; /* uid and gid are to be taken */
};

/* In the child: cgroups, own session, staged sources, the sandbox's uid, descriptors, then the runner.
 * Returns -1 with `failure` set when any of it fails. (launch-child.c) */
int launch_child(const struct start *start);
/* Listening socket of mode 0600 at <run_dir>/agent.sock; run_dir is made when missing. (launch-socket.c) */
int launch_socket(const char *run_dir);
/* Writes <run_dir>/runtime.json whole or not at all: `record` with the processes' numbers and start times added.
 * (launch-record.c) */
int launch_record(const char *run_dir, const char *record, pid_t init, pid_t runner);

/* Makes every cgroup= folder and writes every limit=<value>=<file> (limit_try= may fail). (cgroup.c) */
int cgroup_make(const struct settings *s);
/* The calling process joins every cgroup= folder. (cgroup.c) */
int cgroup_join(const struct settings *s);
/* Removes every cgroup= folder; what is busy or gone is left to the caller's sweep. (cgroup.c) */
void cgroup_remove(const struct settings *s);

#endif
