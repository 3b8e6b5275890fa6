/* What the parts of svc-agent share. agent/PROTOCOL.md describes the wire. */
#ifndef SVC_AGENT_H
#define SVC_AGENT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define SECRET_SIZE 16

/* How the agent serves; main.c (stdio), launch.c or init.c decide it. */
struct serve_options {
	int listen_fd;              /* listening Unix socket, or -1 */
	int in_fd, out_fd;          /* one byte stream, used when listen_fd is -1 */
	uint8_t secret[SECRET_SIZE];
	const char *workdir;        /* default working directory of an exec, e.g. /workspace; created when missing */
	char *const *env;           /* default environment of an exec, NULL-terminated "K=V" */
	uint64_t ring_budget;       /* bytes for the kept output of all detached execs: min(8 MiB, memory/16) */
	uint64_t life_ms;           /* the agent ends the sandbox after this time; 0: never by itself */
	bool ignores_owners;        /* commands believe that they may change owners and identities: see exec/ignore-owners.c */
	const char *host_path;      /* socket on which the host may listen, or NULL */
	uint8_t nonce[SECRET_SIZE]; /* for the first connection to it */
	bool is_traced;             /* the agent runs under a tracer that reads its memory */
};

/* Serves until shutdown and returns the exit status. The caller has locked the process down before. The secret is
 * erased from the options. (serve.c) */
int serve(struct serve_options *options);

/* `svc-agent launcher`: host side of the userspace provider; starts sandboxes on request. (launcher.c) */
int launcher_main(int argc, char **argv);
/* `svc-agent init`: first process inside the namespaces: builds the root, locks down, then serve(). (init.c) */
int init_main(int argc, char **argv);
/* `svc-agent clock-rate`: kHz of the time stamp counter on standard output. (clock-rate.c) */
int clock_rate_main(void);
/* `svc-agent lock-file`: locks the open file on standard input; exits with 1 when another process holds the lock.
 * (file-lock.c) */
int lock_file_main(void);
/* `svc-agent lock-files`: locks files that its parent has open. Reads their descriptors, each an int, and answers each with
 * a character: 0 locked, 1 held by another opening, 2 cannot be locked, 3 the kernel refuses access to the descriptor.
 * (file-lock.c) */
int lock_files_main(void);
/* `svc-agent unpack`: unpacks a layer of a container image, or merges layers. (image/unpack.c) */
int unpack_main(int argc, char **argv);

/* ---- file work: each operation runs in a child forked by the agent, so that it can block, be killed, and (in a pool)
 * change its uid first. (fileops.c) */
enum file_kind {
	FILE_READ = 3, FILE_WRITE = 4, FILE_LIST = 5, FILE_GLOB = 6, FILE_WATCH = 11,
	FILE_PACK = 14, FILE_UNPACK = 15, /* as stream kinds */
	FILE_STAT = 102, FILE_MKDIR = 103, FILE_MOVE = 104, FILE_CHMOD = 105, FILE_REMOVE = 106,
	FILE_USAGE = 119, /* 100 + call method */
};

struct file_op {
	enum file_kind kind;
	const char *path;           /* NUL-terminated; path, pattern or old path */
	const char *path2;          /* new path of FILE_MOVE; the entry after which FILE_PACK starts, or ""; stat, list,
				       write: the prefix of extended attributes, or NULL */
	uint8_t *attributes;        /* write: those that the file gets, below the prefix: str name, str value, ... */
	size_t attributes_size;     /* a writable byte follows them */
	uint32_t mode;              /* write, mkdir, chmod; UINT32_MAX = not given */
	uint8_t flag;               /* write: 1 make parents, 2 in place, 4 attributes; mkdir: parents; remove, watch: recursive */
	uint64_t offset, length;    /* read */
	uint32_t depth, limit;      /* list; glob uses limit */
};

/* Message on meta_fd: u32 length of what follows, u8 frame type (4 DATA on channel 0, 17 RESULT, 18 ERROR), payload as
 * in agent/PROTOCOL.md. Exactly one RESULT or ERROR, the last message. */

/* Runs the operation and never returns (_exit). Reads content from in_fd until EOF (write, unpack; the parent closes it
 * on EOF and kills the child on cancel), writes bytes to out_fd (read, pack: content; list, glob, watch:
 * records) and messages to meta_fd. A read or pack sends the info message before the first content byte. EOF on in_fd commits a write; SIGTERM (cancel, lost
 * session, or death of the parent by PR_SET_PDEATHSIG) removes the temporary file and exits. */
_Noreturn void file_child(const struct file_op *op, int in_fd, int out_fd, int meta_fd);

#endif
