/* Moves with rename(2), and between mounts with a copy beside the new name, which is renamed when it is complete; only
 * then is the old one removed. Reasons that would make that removal fail are checked before the copy where possible. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "files/filework.h"

struct move {
	struct file_place from, to;
	struct stat old;    /* what is moved, as first examined */
};

/* The refusals of rename(2) that EXDEV preempted. Returns 1 when there is nothing to do. */
static int check(const struct move *move)
{
	struct stat there;

	if (faccessat(move->from.dir, ".", W_OK | X_OK, 0))
		file_refuse(errno);
	if (file_is_mount(move->from.dir, move->from.name) || file_is_mount(move->to.dir, move->to.name))
		file_refuse(EBUSY);
	if (fstatat(move->to.dir, move->to.name, &there, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : (file_refuse(errno), 0);
	if (S_ISDIR(there.st_mode) && !S_ISDIR(move->old.st_mode))
		file_refuse(EISDIR);
	if (!S_ISDIR(there.st_mode) && S_ISDIR(move->old.st_mode))
		file_refuse(ENOTDIR);
	/* Through two mounts of one file system, the new name may be the file that would be removed. */
	return there.st_dev == move->old.st_dev && there.st_ino == move->old.st_ino;
}

static _Noreturn void refuse_or_quit(void)
{
	if (file_cancelled())
		file_quit();
	file_refuse(errno);
}

static _Noreturn void move_by_copy(struct move *move)
{
	struct stat now;
	const char *temp;

	if (check(move))
		file_finish(NULL);
	temp = file_temp_tree(move->to.dir);
	if (!temp || file_copy_tree(&move->from, move->to.dir, temp) || file_cancelled() || file_temp_commit(move->to.name))
		refuse_or_quit();
	if (fstatat(move->from.dir, move->from.name, &now, AT_SYMLINK_NOFOLLOW))
		file_refuse(errno);
	if (now.st_dev != move->old.st_dev || now.st_ino != move->old.st_ino)
		file_refuse(EBUSY);
	if (file_remove_tree(move->from.dir, move->from.name))
		file_refuse(errno);
	file_finish(NULL);
}

_Noreturn void file_move(const struct file_op *op)
{
	struct move move;

	if (renameat(AT_FDCWD, op->path, AT_FDCWD, op->path2) == 0)
		file_finish(NULL);
	if (errno != EXDEV)
		file_refuse(errno);
	if (file_place_at(&move.from, AT_FDCWD, op->path, 0) || file_place_at(&move.to, AT_FDCWD, op->path2, 0))
		file_refuse(errno);
	if (fstatat(move.from.dir, move.from.name, &move.old, AT_SYMLINK_NOFOLLOW))
		file_refuse(errno);
	move_by_copy(&move);
}
