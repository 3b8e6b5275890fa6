/* Shared by the parts of file work (file*.c, glob*.c). They run in a child, one operation each, so they may exit
 * anywhere; every exit goes through filereport.c, which removes the temporary file. */
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

/* ---- filereport.c: output to the parent, and the ends of the process */

struct file_bytes {
	uint8_t *at;
	size_t size, room;
};

void file_put_u8(struct file_bytes *bytes, uint8_t value);
void file_put_u32(struct file_bytes *bytes, uint32_t value);
void file_put_u64(struct file_bytes *bytes, uint64_t value);
void file_put_bytes(struct file_bytes *bytes, const void *from, size_t size);
void file_put_str(struct file_bytes *bytes, const char *text, size_t size);

void file_report_to(int meta_fd);
/* Writes all bytes, also to a non-blocking descriptor; -1 with errno. */
int file_write_whole(int fd, const void *from, size_t size);
/* Sends the buffer to the parent and empties it; exits quietly when the parent does not read. */
void file_flush(struct file_bytes *bytes, int fd);
/* Sends a DATA message on channel 0. */
void file_send(const struct file_bytes *content);
/* Sends the last message and exits. `content` may be NULL for an empty result. */
_Noreturn void file_finish(const struct file_bytes *content);
_Noreturn void file_refuse(int error);
_Noreturn void file_quit(void);
/* The result of a walk: u32 count, u8 truncated. */
_Noreturn void file_finish_walk(struct file_bytes *records, int out_fd, uint32_t count, int truncated);
/* Returns 1 when nobody can read the result any more. */
int file_parent_gone(void);
/* Allocates memory, or reports ENOMEM and exits. */
void *file_more(void *old, size_t size);

/* ---- filetemp.c: the one temporary file of this process */

void file_signals(void);
/* Creates `.svc-XXXXXXXX` in `dir` (kept open by the caller until the end), mode 0600; returns a descriptor for reading
 * and writing. */
int file_temp_open(int dir);
/* Only chooses the name and defers SIGTERM: the caller builds a tree there and calls file_cancelled() often. */
const char *file_temp_tree(int dir);
/* Renames the temporary file to its final name, after which it is no longer temporary. Returns 0 or -1. */
int file_temp_commit(const char *name);
void file_temp_discard(void);
int file_cancelled(void);

/* ---- filewrite.c */

/* Gives a new file the owner and mode of the one that it replaces, `old` or NULL, and the given mode instead unless it is
 * NO_MODE. Returns 0 or -1. */
int file_dress(int fd, const struct stat *old, uint32_t given);

/* ---- filetar.c: the headers of an archive */

struct file_entry {
	char type;          /* of ustar: 0 file, 2 link, 5 folder */
	const char *path, *target;
	const struct stat *facts;
	uint64_t size;      /* of the content */
};

/* Appends the header of an entry, with a pax header before it where ustar has too few digits or letters. */
void file_put_entry(struct file_bytes *bytes, const struct file_entry *entry);
/* Appends a pax record: `path` is not in the archive, for the reason `error`, an errno; of too many, their number. */
void file_note_left_out(struct file_bytes *records, const char *path, int error);
/* Appends a pax header that concerns no entry, with these records, which it takes. */
void file_put_left_out(struct file_bytes *bytes, struct file_bytes *records);
/* Appends zeros up to the next block, or the end of the archive. */
void file_put_padding(struct file_bytes *bytes, uint64_t size);
void file_put_end(struct file_bytes *bytes);

/* ---- fileplace.c: the folders of an archive that is unpacked, below one folder and never through a link */

struct file_below {
	int root;
	int dir;            /* O_PATH; the folder of the entry found last: root, or closed by the next call */
	char known[PATH_MAX]; /* its path, as the archive wrote it */
};

/* Opens the folder of an entry, makes missing ones when `make` is set, and copies the last part of its path, "" for the
 * root itself. Returns 0 or -1: EINVAL for `..`, ENOTDIR for a link or a file on the way. */
int file_below_find(struct file_below *below, const char *path, int make, char name[NAME_MAX + 1]);

/* ---- filepath.c: resolves a path to a folder's descriptor and a name in it */

struct file_place {
	int dir;
	char name[NAME_MAX + 1];
};

/* Opens the folder that holds the last part of `path` (relative ones from `dir`) and returns that part. With `make`,
 * missing folders of an absolute path are created (0755). Returns 0, or -1: EBUSY for `/`, EINVAL for `.` and `..`. */
int file_place_at(struct file_place *place, int dir, const char *path, int make);
/* Follows the links of the last part, at most 40; the target need not exist. */
int file_place_follow(struct file_place *place);
/* Returns 1 when something is mounted on this folder. Kernels before 5.8 do not report mounts: then when the device
 * changes. */
int file_is_mount(int dir, const char *name);

/* ---- fileown.c: protects the process that does the work */

/* Returns 1 when the open `fd` belongs to this process in /proc, or has no name in any file system (a pipe, a
 * socket). */
int file_is_own(int fd);
/* openat(2) with O_CLOEXEC, and EACCES for the files of file_is_own(). Every path of a request is opened with these;
 * calls that take only names get an O_PATH descriptor first. */
int file_open_at(int dir, const char *path, int flags);
int file_open(const char *path, int flags);

/* ---- fileinfo.c */

/* Describes the link itself, not its target. Returns 0 or -1. */
int file_facts(const char *path, struct stat *facts);
/* Appends the `info` record of `name` in `dir`. */
void file_put_info(struct file_bytes *bytes, const char *path, int dir, const char *name, const struct stat *facts);

/* ---- fileattributes.c: owner and extended attributes, where the request names a prefix (op->path2) */

/* Refuses a prefix that is not allowed. */
void file_check_prefix(const struct file_op *op);
/* Appends what follows the `info` record of such a request. */
void file_put_facts(struct file_bytes *bytes, const struct file_op *op, int dir, const char *name,
		    const struct stat *facts);
/* Replaces the attributes below the prefix. Returns 0, also where the file system has none, or -1. */
int file_set_attributes(int fd, const struct file_op *op);

/* ---- filenames.c: the names in one folder, sorted by bytes */

struct file_names {
	char **at;          /* each: one byte d_type, the name, NUL; use the two accessors */
	size_t count;
	char *text;
	int dropped;        /* the folder holds more names than requested */
};

static inline const char *file_name_text(const char *entry) { return entry + 1; }
static inline unsigned char file_name_type(const char *entry) { return (unsigned char)entry[0]; }

/* Reads the folder `dir` (an O_PATH descriptor suffices) and keeps the smallest `most` names. Returns 0 or -1. */
int file_names_read(struct file_names *names, int dir, size_t most);
void file_names_free(struct file_names *names);

/* ---- filewalk.c: walks a tree of any depth with few descriptors */

struct file_frame {
	int fd;             /* O_PATH; -1 while a deep child is visited: found again by its `..` */
	int by_link;        /* entered through a link, so `..` does not lead back */
	dev_t dev;
	ino_t ino;
	struct file_names names;
	size_t next, path_size;
	void *mark;         /* owned by the walker; freed with the frame */
};

struct file_walk {
	struct file_frame *frames;
	size_t depth, room; /* depth 1: the walk is at the names of the starting folder */
	char *path;         /* depth of the entry returned last */
	size_t path_room;
};

/* The walk owns `fd`. `path` is the prefix of all entries' paths. The caller fills top->names. */
struct file_frame *file_walk_start(struct file_walk *walk, int fd, const char *path);
/* Returns the next name of the innermost folder and leaves finished folders; NULL at the end. walk->path is its
 * path. */
const char *file_walk_next(struct file_walk *walk);
struct file_frame *file_walk_top(struct file_walk *walk);
/* Enters the folder returned last, through a link only with `follow`. Returns NULL when it cannot be entered. */
struct file_frame *file_walk_enter(struct file_walk *walk, const char *name, int follow);
/* Leaves the folder entered last and skips its remaining names. */
void file_walk_leave(struct file_walk *walk);

/* ---- fileremove.c, filecopy.c */

/* Removes `name` in `dir` and everything below it, never through a link, never into a mount (EBUSY). Returns 0 or
 * -1. */
int file_remove_tree(int dir, const char *name);
/* The same, but first gives the owner of each folder the rights over it: for a tree that the caller owns. */
int file_remove_tree_by_force(int dir, const char *name);
/* Copies `from` to the new name `to`, with mode, owner (where allowed) and times. Returns 0 or -1; ECANCELED when
 * cancelled. */
int file_copy_tree(const struct file_place *from, int to_dir, const char *to);
/* Copies the rest of `from` to `to`; returns the number of bytes or -1. */
int64_t file_copy_content(int from, int to);

/* ---- the operations; each exits the process */

_Noreturn void file_read(const struct file_op *op, int out_fd);
_Noreturn void file_write(const struct file_op *op, int in_fd);
_Noreturn void file_list(const struct file_op *op, int out_fd);
_Noreturn void file_glob(const struct file_op *op, int out_fd);
_Noreturn void file_watch(const struct file_op *op, int out_fd);
_Noreturn void file_pack(const struct file_op *op, int out_fd);
_Noreturn void file_unpack(const struct file_op *op, int in_fd);
_Noreturn void file_stat(const struct file_op *op);
_Noreturn void file_move(const struct file_op *op);
_Noreturn void file_remove(const struct file_op *op);
_Noreturn void file_usage(void);

#endif
