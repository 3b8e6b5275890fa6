/* The removal of a tenant, done by children with its uid: what they may not touch was never the tenant's. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/processes.h"
#include "base/user.h"
#include "exec/users.h"
#include "files/filework.h"

#define LOOKS_MAX 200
#define FIRST_PAUSE_US 500
#define LAST_PAUSE_US 20000
#define READINGS_MAX 16

static void become(uid_t uid)
{
	sigset_t none;

	descriptors_close_from(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (user_take(uid))
		_exit(1);
}

/* The processes that this one may signal are those of its uid. */
static size_t others_alive(void)
{
	struct processes all = { 0 };
	size_t count = 0;

	if (processes_read(&all))
		return 1;
	for (size_t i = 0; i < all.count; i++)
		count += all.at[i].alive && all.at[i].pid != getpid() && kill(all.at[i].pid, 0) == 0;
	processes_free(&all);
	return count;
}

/* One call stops all of them: a fork fails while a signal is pending. fork(2) */
_Noreturn void clean_processes(uid_t uid)
{
	useconds_t pause = FIRST_PAUSE_US;

	become(uid);
	for (int i = 0; i < LOOKS_MAX; i++) {
		kill(-1, SIGKILL);
		if (others_alive() == 0)
			_exit(0);
		usleep(pause);
		pause = pause < LAST_PAUSE_US ? 2 * pause : LAST_PAUSE_US;
	}
	_exit(1);
}

/* Walks the kernel's tables by index, which gives the id of each object; the kernel refuses another user's.
 * shmctl(2) */
static void remove_shared(void)
{
	struct shmid_ds memory;
	struct semid_ds semaphores;
	struct msqid_ds messages;
	struct shm_info memories;
	struct seminfo sets;
	struct msginfo queues;
	union {
		struct semid_ds *facts;
		struct seminfo *info;
	} of = { .info = &sets };
	int most, id;

	most = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&memories);
	for (int i = 0; i <= most; i++)
		if ((id = shmctl(i, SHM_STAT, &memory)) >= 0)
			shmctl(id, IPC_RMID, NULL);
	most = semctl(0, 0, SEM_INFO, of);
	of.facts = &semaphores;
	for (int i = 0; i <= most; i++)
		if ((id = semctl(i, 0, SEM_STAT, of)) >= 0)
			semctl(id, 0, IPC_RMID);
	most = msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&queues);
	for (int i = 0; i <= most; i++)
		if ((id = msgctl(i, MSG_STAT, &messages)) >= 0)
			msgctl(id, IPC_RMID, NULL);
}

/* The home itself is in a folder that is not the tenant's. */
static int empty(const char *home)
{
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *found;
	int left = 0;

	if (!folder)
		return errno == ENOENT ? 0 : -1;
	while ((found = readdir(folder))) {
		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
			continue;
		left++;
		if (file_remove_tree_by_force(dir, found->d_name) && errno != ENOENT)
			return -1;
	}
	closedir(folder);
	return left;
}

_Noreturn void clean_belongings(uid_t uid, const char *home)
{
	int left = 1;

	become(uid);
	remove_shared();
	chmod(home, 0700);
	for (int i = 0; left > 0 && i < READINGS_MAX; i++)
		left = empty(home);
	_exit(left == 0 ? 0 : 1);
}
