/* Merges layers into the tree of an image: folders of its own, and hard links to the files of the layers. Every step is
 * from one open folder to a name in it. Where a link of the image has to be followed, the kernel keeps it inside the
 * tree (RESOLVE_IN_ROOT), because the root of this process is the store. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/fault.h"
#include "image/image.h"
#include "image/implied.h"
#include "image/origin.h"
#include "image/records.h"

#define OPENAT2_CALL 437
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static int tree;                  /* the tree's root */
static char path[2 * PATH_MAX];   /* of the folder that is merged, below the tree's root */
static size_t root_length;        /* of the path of the tree's root */
static size_t tree_length;        /* of the path of the tree's folder that is merged into, which links may lengthen */
static unsigned layer_number;     /* of the layer that is merged, the lowest is 0 */

/* The folder at a path of the image, as the image itself would see it. */
static int open_inside(const char *inside)
{
	struct open_how how = { .flags = OPEN_FOLDER, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(OPENAT2_CALL, tree, *inside ? inside : ".", &how, sizeof(how));
}

/* The length of the path of a folder; 0 when it is beyond all limits. */
static size_t length_of(int folder)
{
	char at[PATH_MAX];
	size_t length = fchdir(folder) || !getcwd(at, sizeof(at)) ? 0 : strlen(at);

	return chdir("/") ? 0 : length;
}

static int too_deep(void)
{
	return refuse("a folder of a layer lies too deep");
}

/* Opens the parent of a record's path: -1 with the errno when there is none. `*name` is the last name. */
static int open_parent(char *inside, const char **name)
{
	char *slash = strrchr(inside, '/');

	*name = slash ? slash + 1 : inside;
	if (!slash)
		return open_inside("");
	*slash = '\0';
	return open_inside(inside);
}

static bool is_nothing(int number)
{
	return number == ENOENT || number == ENOTDIR || number == ELOOP;
}

/* Removes what a lower layer has at a path, or only what is in the folder there. */
static int clear(const struct record *record, char *inside)
{
	const char *name;
	int parent, folder, failed;

	if (!*inside)
		return record->type == RECORD_OPAQUE ? empty_folder(open_inside("")) : 0;
	parent = open_parent(inside, &name);
	if (parent < 0)
		return is_nothing(errno) ? 0 : fail_system("open a folder of the tree");
	if (record->type != RECORD_OPAQUE) {
		failed = remove_name(parent, name);
	} else {
		folder = openat(parent, name, OPEN_FOLDER | O_NOFOLLOW);
		failed = folder >= 0 ? empty_folder(folder) : is_nothing(errno) ? 0 : fail_system("open a folder of the tree");
	}
	close(parent);
	return failed;
}

/* Devices hide what is below them as files would; they are not made. */
static bool clears(enum record_type type)
{
	return type == RECORD_WHITEOUT || type == RECORD_OPAQUE || (type >= RECORD_CHARACTERS && type <= RECORD_PIPE);
}

static int clear_lower(int layer)
{
	int fd = openat(layer, "entries", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char inside[PATH_MAX];
	struct record record;
	int more;

	if (!file)
		return fail_system("open the records of a layer");
	while ((more = records_next(file, &record, inside)) > 0) {
		if ((record.type == RECORD_FOLDER && implied_note(inside, record.flags & RECORD_IMPLIED)) ||
		    (clears(record.type) && clear(&record, inside))) {
			more = -1;
			break;
		}
	}
	fclose(file);
	return more;
}

static int merge_folder(int from, int to);

static int note_folder(int fd, bool is_implied)
{
	struct record record = { .type = RECORD_FOLDER, .flags = is_implied ? RECORD_IMPLIED : 0, .path = path };

	return origin_note(&record, fd, "", layer_number);
}

static int note_file(int to, const char *name)
{
	static char own[sizeof(path) + NAME_BYTES + 2];
	struct record record = { .type = RECORD_FILE, .path = own };

	snprintf(own, sizeof(own), "%s%s%s", path, *path ? "/" : "", name);
	return origin_note(&record, to, name, layer_number);
}

static int open_made(int to, const char *name, bool is_implied)
{
	int fd = openat(to, name, OPEN_FOLDER | O_NOFOLLOW);

	if (fd >= 0 && note_folder(fd, is_implied))
		return close(fd), -1;
	return fd;
}

/* The tree's folder of a name: made, kept, or put where something else is. A link there is followed for a folder that
 * no entry of this layer names: its entries were packed through the link. */
static int open_folder(int to, const char *name, mode_t mode)
{
	bool is_implied = implied_has(path);
	int fd;

	if (mkdirat(to, name, mode) == 0)
		return open_made(to, name, is_implied);
	if (errno != EEXIST)
		return -1;
	fd = openat(to, name, OPEN_FOLDER | O_NOFOLLOW);
	if (fd >= 0) {
		if (!is_implied && (fchmod(fd, mode) || note_folder(fd, false)))
			return close(fd), -1;
		return fd;
	}
	if (is_implied && (fd = open_inside(path)) >= 0) {
		size_t length = length_of(fd);

		tree_length = length >= root_length ? length - root_length : FOLDER_PATH_MAX + 1;
		return fd;
	}
	if (remove_name(to, name) || mkdirat(to, name, mode))
		return -1;
	return open_made(to, name, is_implied);
}

static int take_folder(int from, int to, const char *name)
{
	int source = openat(from, name, OPEN_FOLDER | O_NOFOLLOW), target;
	struct stat facts;

	if (source < 0 || fstat(source, &facts))
		return fail_system("open a folder of a layer");
	tree_length += strlen(name) + 1;
	target = open_folder(to, name, facts.st_mode & 01777);
	if (target >= 0 && tree_length <= FOLDER_PATH_MAX)
		return merge_folder(source, target);
	close(source);
	if (target < 0)
		return fail_system("make a folder of the tree");
	close(target);
	return too_deep();
}

static int take_file(int from, int to, const char *name)
{
	if (linkat(from, name, to, name, 0) == 0)
		return note_file(to, name);
	if (errno == EEXIST) {
		if (remove_name(to, name))
			return -1;
		if (linkat(from, name, to, name, 0) == 0)
			return note_file(to, name);
	}
	if (errno != EMLINK && errno != EXDEV && errno != EPERM)
		return fail_system("link a file into the tree");
	return copy_name(from, to, name) ? -1 : note_file(to, name);
}

static int is_folder(int folder, const struct dirent *entry)
{
	struct stat facts;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	if (fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW))
		return fail_system("read a folder of a layer");
	return S_ISDIR(facts.st_mode);
}

static int take_entry(int from, int to, const struct dirent *entry)
{
	size_t length = strlen(path), outer = tree_length;
	int kind = is_folder(from, entry), failed;

	if (kind < 0 || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return kind < 0 ? -1 : 0;
	if (kind == 0)
		return take_file(from, to, entry->d_name);
	if (length + strlen(entry->d_name) + 2 > sizeof(path))
		return too_deep();
	snprintf(path + length, sizeof(path) - length, "%s%s", length ? "/" : "", entry->d_name);
	failed = take_folder(from, to, entry->d_name);
	path[length] = '\0';
	tree_length = outer;
	return failed;
}

/* Closes both. */
static int merge_folder(int from, int to)
{
	DIR *list = fdopendir(from);
	struct dirent *entry;
	int failed = 0;

	if (!list) {
		close(from);
		close(to);
		return fail_system("open a folder of a layer");
	}
	while (!failed && (errno = 0, entry = readdir(list)))
		failed = take_entry(dirfd(list), to, entry);
	if (!failed && errno)
		failed = fail_system("read a folder of a layer");
	closedir(list);
	close(to);
	return failed;
}

static int merge_layer(const char *layer)
{
	int folder = open(layer, OPEN_FOLDER | O_NOFOLLOW), files, failed;

	if (folder < 0)
		return fail_system("open a layer");
	implied_clear();
	failed = clear_lower(folder);
	if (!failed) {
		files = openat(folder, "fs", OPEN_FOLDER | O_NOFOLLOW);
		failed = files < 0 ? fail_system("open a layer") : merge_folder(files, open_inside(""));
	}
	close(folder);
	return failed;
}

int merge(const char *name, char *const *layers, size_t count)
{
	tree = open(name, OPEN_FOLDER | O_NOFOLLOW);
	if (tree < 0)
		return fail_system("open the tree");
	root_length = length_of(tree);
	origin_begin();
	for (; layer_number < count; layer_number++)
		if (merge_layer(layers[layer_number]))
			return -1;
	return merge_own(tree) || records_flush() ? -1 : 0;
}
