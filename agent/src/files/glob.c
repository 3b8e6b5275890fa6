/* Finds paths by pattern. One walk serves all choices: each folder carries the positions in the pattern that its path
 * has reached, each name advances them, and a folder without a position is not entered. A folder is read only for a
 * wildcard, so a path through folders that may be crossed and not read is found. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "files/filework.h"
#include "files/glob.h"

/* Comparisons of a name with a part before the search stops and reports `truncated`. */
#define WORK_MAX 50000000
#define NAMES_MAX 1000000

struct positions {
	size_t count;
	size_t at[];
};

struct search {
	struct glob_parts parts;
	struct file_walk walk;
	size_t *reached;    /* positions for the current name, each once */
	size_t reached_count;
	size_t *stamps, round;
	char **found;
	size_t found_count, found_room, limit;
	uint64_t work;
	int truncated;
};

static void reach(struct search *s, size_t position)
{
	if (s->stamps[position] == s->round)
		return;
	s->stamps[position] = s->round;
	s->reached[s->reached_count++] = position;
	if (s->parts.at[position].kind == GLOB_DEEP)
		reach(s, position + 1);
}

static void begin_round(struct search *s)
{
	s->round++;
	s->reached_count = 0;
}

/* ---- results */

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void keep_smallest(struct search *s)
{
	if (s->found_count > 1)
		qsort(s->found, s->found_count, sizeof(*s->found), by_text);
	while (s->found_count > s->limit) {
		free(s->found[--s->found_count]);
		s->truncated = 1;
	}
}

static void add_found(struct search *s, const char *path)
{
	if (s->found_count == s->found_room) {
		s->found_room = s->found_room ? s->found_room * 2 : 64;
		s->found = file_more(s->found, s->found_room * sizeof(*s->found));
	}
	s->found[s->found_count++] = strcpy(file_more(NULL, strlen(path) + 1), path);
	if (s->found_count / 2 > s->limit + 64)
		keep_smallest(s);
}

static _Noreturn void finish(struct search *s, int out_fd)
{
	struct file_bytes records = { 0 };

	keep_smallest(s);
	for (size_t i = 0; i < s->found_count; i++) {
		file_put_str(&records, s->found[i], strlen(s->found[i]));
		if (records.size > FILE_PIECE)
			file_flush(&records, out_fd);
	}
	file_finish_walk(&records, out_fd, (uint32_t)s->found_count, s->truncated);
}

/* ---- names */

/* The literal names at the positions, each once, as if the folder held all of them. */
static void spelled_names(const struct search *s, const struct positions *positions, struct file_names *names)
{
	size_t size = 0, count = 0;

	*names = (struct file_names){ .at = file_more(NULL, positions->count * sizeof(char *)) };
	for (size_t i = 0; i < positions->count; i++) {
		const struct glob_part *part = &s->parts.at[positions->at[i]];
		if (part->kind == GLOB_NAME) {
			names->at[count++] = part->text;
			size += strlen(part->text) + 2;
		}
	}
	qsort(names->at, count, sizeof(char *), by_text);
	names->text = file_more(NULL, size);
	size = 0;
	for (size_t i = 0; i < count; i++) {
		if (names->count > 0 && strcmp(file_name_text(names->at[names->count - 1]), names->at[i]) == 0)
			continue;
		names->text[size] = DT_UNKNOWN;
		strcpy(names->text + size + 1, names->at[i]);
		names->at[names->count++] = names->text + size;
		size += strlen(names->text + size + 1) + 2;
	}
}

static int wants_reading(const struct search *s, const struct positions *positions)
{
	for (size_t i = 0; i < positions->count; i++) {
		enum glob_kind kind = s->parts.at[positions->at[i]].kind;
		if (kind == GLOB_WILD || kind == GLOB_DEEP)
			return 1;
	}
	return 0;
}

/* Gives a folder just entered its positions and the names to try. */
static void furnish(struct search *s, struct file_frame *frame)
{
	struct positions *positions = file_more(NULL, sizeof(*positions) + s->reached_count * sizeof(size_t));

	positions->count = s->reached_count;
	memcpy(positions->at, s->reached, s->reached_count * sizeof(size_t));
	frame->mark = positions;
	if (!wants_reading(s, positions) || file_names_read(&frame->names, frame->fd, NAMES_MAX))
		spelled_names(s, positions, &frame->names);
	s->truncated |= frame->names.dropped;
}

/* Returns DT_DIR, DT_LNK or another type; -1 when the file does not exist. */
static int type_of(const struct file_frame *frame, const char *entry)
{
	struct stat facts;

	if (file_name_type(entry) != DT_UNKNOWN)
		return file_name_type(entry);
	if (fstatat(frame->fd, file_name_text(entry), &facts, AT_SYMLINK_NOFOLLOW))
		return -1;
	return S_ISDIR(facts.st_mode) ? DT_DIR : S_ISLNK(facts.st_mode) ? DT_LNK : DT_REG;
}

/* ---- the walk */

static void move_on(struct search *s, const struct positions *positions, const char *name, int type)
{
	begin_round(s);
	for (size_t i = 0; i < positions->count; i++) {
		size_t position = positions->at[i];
		const struct glob_part *part = &s->parts.at[position];

		s->work++;
		if (part->kind == GLOB_DEEP && type == DT_DIR && *name != '.')
			reach(s, position);
		if (part->kind == GLOB_NAME && strcmp(part->text, name) == 0)
			reach(s, position + 1);
		if (part->kind == GLOB_WILD && glob_match(part->text, name))
			reach(s, position + 1);
	}
}

/* Returns whether any position is the end of a choice, and whether any is not. */
static void judge(const struct search *s, int *ends, int *goes_on)
{
	*ends = *goes_on = 0;
	for (size_t i = 0; i < s->reached_count; i++) {
		if (s->parts.at[s->reached[i]].kind == GLOB_END)
			*ends = 1;
		else
			*goes_on = 1;
	}
}

/* The search does not descend below a path that is too long for a request. */
static void visit(struct search *s, const char *entry)
{
	struct file_frame *frame = file_walk_top(&s->walk);
	int type = type_of(frame, entry), ends, goes_on;

	if (type < 0)
		return;
	move_on(s, frame->mark, file_name_text(entry), type);
	judge(s, &ends, &goes_on);
	if (ends)
		add_found(s, s->walk.path);
	if (!goes_on || (type != DT_DIR && type != DT_LNK) || strlen(s->walk.path) >= PATH_MAX)
		return;
	frame = file_walk_enter(&s->walk, file_name_text(entry), type == DT_LNK);
	if (frame)
		furnish(s, frame);
}

static void prepare(struct search *s, const struct file_op *op)
{
	if (glob_compile(&s->parts, op->path))
		file_refuse(errno);
	s->limit = op->limit;
	s->reached = file_more(NULL, s->parts.count * sizeof(size_t));
	s->stamps = file_more(NULL, s->parts.count * sizeof(size_t));
	memset(s->stamps, 0, s->parts.count * sizeof(size_t));
	begin_round(s);
	for (size_t i = 0; i < s->parts.start_count; i++)
		reach(s, s->parts.starts[i]);
}

_Noreturn void file_glob(const struct file_op *op, int out_fd)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), ends, goes_on;
	struct search search = { 0 };
	struct file_frame *frame;
	const char *entry;

	prepare(&search, op);
	judge(&search, &ends, &goes_on);
	if (ends)
		add_found(&search, "/");
	frame = fd < 0 ? NULL : file_walk_start(&search.walk, fd, "/");
	if (!frame)
		file_refuse(errno);
	furnish(&search, frame);
	while ((entry = file_walk_next(&search.walk)) && search.work < WORK_MAX)
		visit(&search, entry);
	if (entry)
		search.truncated = 1;
	finish(&search, out_fd);
}
