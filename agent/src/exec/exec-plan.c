/* Parses the arguments of an exec. The message bounds the arrays: each entry costs it four bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

/* The smallest entry is its length field. */
#define ENTRY_LEAST 4
#define DEFAULTS_MAX 4096

struct list {
	char **at;
	uint32_t count;
};

/* Reads `u32 count` and that many strings, and appends them to the entries. */
static bool read_list(struct reader *arguments, struct list *list, size_t spare)
{
	uint32_t count = read_u32(arguments);

	if (arguments->bad || count > (size_t)(arguments->end - arguments->at) / ENTRY_LEAST)
		return false;
	list->at = malloc((count + spare + 1) * sizeof(char *));
	if (!list->at)
		return false;
	for (list->count = 0; list->count < count; list->count++)
		list->at[list->count] = read_text(arguments);
	list->at[count] = NULL;
	return true;
}

static bool is_given(const struct list *env, const char *entry, size_t name_size)
{
	for (uint32_t i = 0; i < env->count; i++)
		if (strncmp(env->at[i], entry, name_size) == 0)
			return true;
	return false;
}

static void add_defaults(struct list *env, char *const *defaults, size_t count)
{
	uint32_t end = env->count;

	for (size_t i = 0; i < count; i++) {
		const char *equals = strchr(defaults[i], '=');

		if (equals && !is_given(env, defaults[i], (size_t)(equals - defaults[i]) + 1))
			env->at[end++] = defaults[i];
	}
	env->at[end] = NULL;
}

/* Both lists share one allocation, so that there is one thing to free. */
static int join(struct exec_plan *plan, struct list *argv, struct list *env, size_t spare)
{
	size_t argv_size = (argv->count + 1) * sizeof(char *);
	size_t env_size = (env->count + spare + 1) * sizeof(char *);
	char **room = realloc(argv->at, argv_size + env_size);

	if (!room)
		return ENOMEM;
	argv->at = NULL;
	memcpy(room + argv->count + 1, env->at, env_size);
	plan->room = room;
	plan->argv = room;
	plan->env = room + argv->count + 1;
	return 0;
}

static void read_head(struct exec_plan *plan, struct reader *arguments)
{
	plan->flags = read_u32(arguments);
	/* Nobody could ever end the input of a detached exec. */
	if (plan->flags & (EXEC_DETACH | EXEC_KEYED))
		plan->flags &= ~(uint32_t)EXEC_STDIN;
	plan->id = read_text(arguments);
	plan->workdir = read_text(arguments);
	plan->timeout_ms = read_u32(arguments);
	plan->rows = read_u16(arguments);
	plan->cols = read_u16(arguments);
	plan->label = read_text(arguments);
}

static bool read_body(struct exec_plan *plan, struct reader *arguments)
{
	if (plan->flags & EXEC_KEYED)
		plan->body = read_text(arguments);
	if (plan->flags & EXEC_KEEP)
		plan->note = read_text(arguments);
	return !arguments->bad;
}

static bool is_sound(const struct exec_plan *plan, const struct list *argv)
{
	return argv->count > 0 && argv->at[0][0] && plan->id[0] && strlen(plan->id) <= EXEC_ID_MAX &&
		!(plan->flags & ~(uint32_t)(EXEC_PTY | EXEC_DETACH | EXEC_STDIN | EXEC_KEYED | EXEC_KEEP)) &&
		(!plan->note || (!(plan->flags & (EXEC_DETACH | EXEC_KEYED)) && strlen(plan->note) <= EXEC_NOTE_MAX)) &&
		(!plan->body || (plan->body[0] && strlen(plan->body) <= EXEC_BODY_MAX));
}

int exec_plan_read(struct exec_plan *plan, struct reader *arguments, char *const *defaults)
{
	struct list argv = { 0 }, env = { 0 };
	size_t spare = 0;
	int error = EINVAL;

	while (defaults && defaults[spare] && spare < DEFAULTS_MAX)
		spare++;
	*plan = (struct exec_plan){ 0 };
	read_head(plan, arguments);
	if (read_list(arguments, &argv, 0) && read_list(arguments, &env, spare) && read_body(plan, arguments) &&
	    reader_done(arguments) && is_sound(plan, &argv)) {
		add_defaults(&env, defaults, spare);
		error = join(plan, &argv, &env, spare);
	}
	free(argv.at);
	free(env.at);
	return error;
}
