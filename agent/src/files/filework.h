/* What the parts of file work (file*.c, glob*.c) share. They run in a child of their own, one operation each, so they
 * end the process where they like; but every end goes through filereport.c, which removes what must not be left. */
#ifndef SVC_FILEWORK_H
#define SVC_FILEWORK_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "agent.h"

#define FILE_PIECE (256 * 1024)
#define MODE_BITS 07777
#define NO_MODE UINT32_MAX

/* ---- filereport.c: bytes for the parent, and the ends of the process */

struct file_bytes {
	uint8_t *at;
	size_t size, room;
};

void file_put_u8(struct file_bytes *bytes, uint8_t value);
void file_put_u32(struct file_bytes *bytes, uint32_t value);
void file_put_u64(struct file_bytes *bytes, uint64_t value);
void file_put_str(struct file_bytes *bytes, const char *text, size_t size);

void file_report_to(int meta_fd);
/* All of it, also to a non-blocking descriptor; -1 with errno. */
int file_write_whole(int fd, const void *from, size_t size);
/* Writes what is there to the parent and empties it; ends the process quietly when the parent does not read. */
void file_flush(struct file_bytes *bytes, int fd);
/* A DATA message on channel 0. */
void file_send(const struct file_bytes *content);
/* The last message, and the end. `content` may be NULL for an empty result. */
_Noreturn void file_finish(const struct file_bytes *content);
_Noreturn void file_refuse(int error);
_Noreturn void file_quit(void);
/* The result of a walk: u32 count, u8 truncated. */
_Noreturn void file_finish_walk(struct file_bytes *records, int out_fd, uint32_t count, int truncated);
/* 1 when nobody can read the result any more. */
int file_parent_gone(void);
/* Memory or ENOMEM and the end. */
void *file_more(void *old, size_t size);

/* ---- filetemp.c: the one temporary thing of this process */

void file_signals(void);
/* Makes `.svc-XXXXXXXX` in `dir` (kept open by the caller until the end), 0600, read and write; the descriptor. */
int file_temp_open(int dir);
/* Chooses the name only and makes SIGTERM wait: the caller builds a tree there, asking file_cancelled() often. */
const char *file_temp_tree(int dir);
/* Renames the temporary thing to its place, after which it is no longer temporary. 0 or -1. */
int file_temp_commit(const char *name);
void file_temp_discard(void);
int file_cancelled(void);

/* ---- filepath.c: from a path to a folder's descriptor and a name in it */

struct file_place {
	int dir;
	char name[NAME_MAX + 1];
};

/* The folder that holds the last part of `path` (relative ones from `dir`) and that part. With `make`, missing folders
 * of an absolute path are made (0755). 0, or -1: EBUSY for `/`, EINVAL for `.` and `..`. */
int file_place_at(struct file_place *place, int dir, const char *path, int make);
/* Follows the links of the last part as far as they lead, at most 40; what they lead to need not exist. */
int file_place_follow(struct file_place *place);
/* 1 when something is mounted on this folder. Without the kernel's word (before 5.8): when the device changes. */
int file_is_mount(int dir, const char *name);

/* ---- fileown.c: the process that does the work is none of its objects */

/* 1 when the open `fd` is of this process in /proc, or has no name in any file system (a pipe, a socket). */
int file_is_own(int fd);
/* openat(2) with O_CLOEXEC, and EACCES for what file_is_own() names. Every path of a request is opened by these, an
 * O_PATH descriptor before a call that takes only names. */
int file_open_at(int dir, const char *path, int flags);
int file_open(const char *path, int flags);

/* ---- fileinfo.c */

/* Of the link itself, not of its target. 0 or -1. */
int file_facts(const char *path, struct stat *facts);
/* Appends the `info` record of `name` in `dir`. */
void file_put_info(struct file_bytes *bytes, const char *path, int dir, const char *name, const struct stat *facts);

/* ---- filenames.c: the names in one folder, sorted by bytes */

struct file_names {
	char **at;          /* each: one byte d_type, the name, NUL; use the two accessors */
	size_t count;
	char *text;
	int dropped;        /* the folder holds more than the caller wanted */
};

static inline const char *file_name_text(const char *entry) { return entry + 1; }
static inline unsigned char file_name_type(const char *entry) { return (unsigned char)entry[0]; }

/* Reads the folder `dir` (an O_PATH descriptor will do); the smallest `most` names stay. 0 or -1. */
int file_names_read(struct file_names *names, int dir, size_t most);
void file_names_free(struct file_names *names);

/* ---- filewalk.c: down and up a tree of any depth with few descriptors */

struct file_frame {
	int fd;             /* O_PATH; -1 while a deep child is visited: found again by its `..` */
	int by_link;        /* entered through a link, so `..` does not lead back */
	dev_t dev;
	ino_t ino;
	struct file_names names;
	size_t next, path_size;
	void *mark;         /* the walker's own; freed with the frame */
};

struct file_walk {
	struct file_frame *frames;
	size_t depth, room; /* depth 1: the names of the starting folder are visited */
	char *path;         /* of the entry returned last */
	size_t path_room;
};

/* `fd` becomes the walk's. `path` is what entries' paths begin with. The caller fills top->names. */
struct file_frame *file_walk_start(struct file_walk *walk, int fd, const char *path);
/* The next name of the innermost folder, climbing out of finished ones; NULL at the end. walk->path is its path. */
const char *file_walk_next(struct file_walk *walk);
struct file_frame *file_walk_top(struct file_walk *walk);
/* Enters the folder returned last, through a link only with `follow`. NULL when it cannot be entered. */
struct file_frame *file_walk_enter(struct file_walk *walk, const char *name, int follow);
/* Leaves the folder entered last without its names. */
void file_walk_leave(struct file_walk *walk);

/* ---- fileremove.c, filecopy.c */

/* Removes `name` in `dir` and all below it, never through a link, never into a mount (EBUSY). 0 or -1. */
int file_remove_tree(int dir, const char *name);
/* The same, giving the owner of each folder the rights over it first: for a tree that is the caller's own. */
int file_remove_tree_by_force(int dir, const char *name);
/* Copies `from` to the new name `to`, with mode, owner (where allowed) and times. 0 or -1; ECANCELED when cancelled. */
int file_copy_tree(const struct file_place *from, int to_dir, const char *to);
/* All that `from` still gives, to `to`; the number of bytes or -1. */
int64_t file_copy_content(int from, int to);

/* ---- the operations; each ends the process */

_Noreturn void file_read(const struct file_op *op, int out_fd);
_Noreturn void file_write(const struct file_op *op, int in_fd);
_Noreturn void file_list(const struct file_op *op, int out_fd);
_Noreturn void file_glob(const struct file_op *op, int out_fd);
_Noreturn void file_stat(const struct file_op *op);
_Noreturn void file_move(const struct file_op *op);
_Noreturn void file_remove(const struct file_op *op);

#endif
