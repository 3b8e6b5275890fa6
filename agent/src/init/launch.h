/* The protocol between launch and init. Descriptor numbers are fixed, so that no runner has to pass them. */
#ifndef SVC_LAUNCH_H
#define SVC_LAUNCH_H

#include <sys/types.h>

#include "base/failure.h"
#include "base/settings.h"

#define LISTEN_FD 3  /* the listening socket for serve() */
#define GATE_FD 5    /* the sockets of a gate that the launcher made, one after the other */
#define CONTROL_FD 4 /* SOCK_SEQPACKET pair between launch and init; closed before any program of the guest runs */

/* Packets on CONTROL_FD. launch → init: the settings, then GO. init → launch: HELLO first, then READY with warnings
 * (one a line) or FAILED with the reason. An init whose launcher dies before GO exits. With network=, init sends NETWORK
 * with a descriptor of its network namespace after HELLO, and gets one with GO that it keeps for its life. */
#define PACKET_HELLO 'H'
#define PACKET_NETWORK 'N'
#define PACKET_READY 'R'
#define PACKET_FAILED 'F'
#define PACKET_GO 'G'
#define PACKET_MAX 2048

/* Sends one, with a descriptor unless that is -1. Returns 0, or -1 with errno. (packet.c) */
int packet_send(int to, char type, const char *text, int fd);

/* Options of a sandbox's devpts. The kernel has a few thousand terminals in all: without a limit one sandbox could take
 * all of them. */
#define TERMINALS "newinstance,ptmxmode=0666,mode=0620,max=256"

/* Starts the sandbox that the settings describe. Returns 0, and `answer` holds one warning a line; or 1, and it holds
 * the reason: then only the run folder is left. SIGTERM makes it give up. (launch.c) */
int launch(const struct settings *settings, char *answer, size_t size);

/* The work of launch's child before it becomes the runner. */
struct start {
	const struct settings *settings;
	int listen_fd, control_fd, output_fd;
	int cgroups_fd; /* gives a byte when the cgroups are made */
	uid_t uid;
	gid_t gid;
	int drop; /* uid and gid are set */
};

/* For the child: starts a session, mounts staged sources, joins the cgroups when they are made, moves descriptors, makes
 * the gate, changes to the sandbox's uid, then executes the runner. Returns -1 with `failure` set when a step fails;
 * `output_fd` is then where it can be told. (launch-child.c) */
int launch_child(struct start *start);
/* Changes to the sandbox's uid, where it has one. (launch-child.c) */
int launch_drop(const struct start *start);
/* Makes all signals as they are for a new program. (launch-child.c) */
void launch_default_signals(void);
/* With gate=launcher, for a runner that keeps the network namespace and the descriptors: makes the programs' network and
 * the gate. Needs the rights of root. (launch-gate.c) */
int launch_gate(const struct settings *s);
/* Mounts the tree of an image on `target`, its files (which tree_uid= owns) shown as the sandbox's where the kernel can.
 * Returns 0 or -1 with errno. (launch-tree.c) */
int launch_stage_tree(const struct start *start, const char *source, const char *target);
/* Makes the socket `fd` listen at <run_dir>/agent.sock, mode 0600; creates run_dir when missing. (launch-socket.c) */
int launch_socket(const char *run_dir, int fd);
/* The program that connects for a sandbox with a user-mode network. */
struct network {
	int space, owner;      /* the network namespace, and the user namespace with rights over it */
	int end, ready, said;  /* the end of `end` is its end; it writes to the others */
	pid_t pid;             /* 0: there is none */
};

/* Starts network=<path of slirp4netns> for the namespace `space`. (launch-network.c) */
int launch_network(struct start *start, struct network *network);
/* Once `ready` can be read: makes the routes of the namespace, or fails with what the program wrote. (launch-network.c) */
int launch_network_routes(const struct start *start, const struct network *network);
/* The processes of a record. */
struct launched {
	pid_t init, runner, network;
};

/* Makes the file of a record; a descriptor or -1. (launch-record.c) */
int launch_record_open(const char *run_dir);
/* Writes <run_dir>/runtime.json atomically by the descriptor `fd` of launch_record_open(), which it closes: `record` with
 * the processes' pids and start times added. (launch-record.c) */
int launch_record(int fd, const char *run_dir, const char *record, const struct launched *processes);

/* Creates every cgroup= folder and writes every limit=<value>=<file> (limit_try= may fail). (cgroup.c) */
int cgroup_make(const struct settings *s);
/* The calling process joins every cgroup= folder. (cgroup.c) */
int cgroup_join(const struct settings *s);
/* Removes every cgroup= folder; the caller sweeps those that are busy. (cgroup.c) */
void cgroup_remove(const struct settings *s);

#endif
