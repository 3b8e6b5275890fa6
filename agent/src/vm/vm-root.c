/* The root of the guest: the image read-only, with a disk (or memory) on top for changes. The initramfs cannot be
 * unmounted, so the new root is moved over it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/vm.h"

#define MEBIBYTE (1024 * 1024)

static const struct vm_disk_kind image = { "svc-image", true }, overlay = { "svc-overlay", false };

static int mount_image(const struct settings *s)
{
	char node[300];

	if (vm_disk(s, &image, node, sizeof(node))) {
		errno = ENODEV;
		return fail("the image");
	}
	if (mkdir("/image", 0755) || mount(node, "/image", "ext4", MS_RDONLY | MS_NOATIME, "noload"))
		return fail("mount the image");
	return 0;
}

/* Bounded in bytes and, because an inode is kernel memory too, in files. */
static int mount_memory(const char *path, uint64_t bytes, const char *mode, unsigned long flags)
{
	char options[128];

	snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=%s", (unsigned long long)bytes,
		 (unsigned long long)(bytes / 4096 < 1024 ? 1024 : bytes / 4096), mode);
	return mount("tmpfs", path, "tmpfs", flags, options);
}

/* It is discarded with the guest: options that keep a file system consistent after a crash are left out. */
static int mount_changes(const struct settings *s)
{
	char node[300];
	int missing = vm_disk(s, &overlay, node, sizeof(node));

	if (missing < 0 || mkdir("/changes", 0755))
		return fail("find a disk for changes");
	if (missing && mount_memory("/changes", settings_number(s, "changes_bytes", MEBIBYTE), "0755", 0))
		return fail("mount memory for changes");
	if (!missing && mount(node, "/changes", "ext4", MS_NOATIME, "nobarrier,noinit_itable,errors=continue"))
		return fail("mount the disk for changes");
	if (mkdir("/changes/upper", 0755) || mkdir("/changes/work", 0755))
		return fail("folders for changes");
	return 0;
}

/* A pool's tenants write only to their workspaces: nothing else needs space for changes. */
static int mount_root(const struct settings *s)
{
	static const char layers[] = "lowerdir=/image,upperdir=/changes/upper,workdir=/changes/work";

	if (mount_image(s) || mount_changes(s) || mkdir("/new", 0755))
		return -1;
	return mount("overlay", "/new", "overlay", MS_NOATIME, layers) ? fail("put changes over the image") : 0;
}

static int mount_kept(const char *path, const char *type, unsigned long flags, const char *options)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		return fail("make %s", path);
	return mount(type, path, type, flags, options) ? fail("mount %s", path) : 0;
}

static int mount_tmpfs_at(const char *path, uint64_t bytes, const char *mode)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		return fail("make %s", path);
	return mount_memory(path, bytes, mode, MS_NOSUID | MS_NODEV) ? fail("mount %s", path) : 0;
}

static int mount_system(const struct settings *s)
{
	uint64_t tmp = settings_number(s, "tmp_bytes", MEBIBYTE), shm = settings_number(s, "shm_bytes", MEBIBYTE);

	if (mount_kept("/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ||
	    mount_kept("/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ||
	    mount_kept("/dev", "devtmpfs", MS_NOSUID, "mode=0755") ||
	    mount_kept("/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5"))
		return -1;
	return mount_tmpfs_at("/dev/shm", shm, "1777") || mount_tmpfs_at("/tmp", tmp, "1777") ||
		mount_tmpfs_at("/run", tmp, "0755") ? -1 : 0;
}

/* devtmpfs has only the nodes of drivers. */
static int link_devices(void)
{
	static const char *const links[][2] = {
		{ "/dev/fd", "/proc/self/fd" }, { "/dev/stdin", "/proc/self/fd/0" },
		{ "/dev/stdout", "/proc/self/fd/1" }, { "/dev/stderr", "/proc/self/fd/2" },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (symlink(links[i][1], links[i][0]) && errno != EEXIST)
			return fail("link %s", links[i][0]);
	unlink("/dev/ptmx");
	return symlink("pts/ptmx", "/dev/ptmx") ? fail("link /dev/ptmx") : 0;
}

int vm_root(const struct settings *s)
{
	if (mount_root(s))
		return -1;
	umount2("/sys", MNT_DETACH);
	umount2("/dev", MNT_DETACH);
	unlink("/init");
	if (chdir("/new") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		return fail("enter the root");
	return mount_system(s) || link_devices() ? -1 : 0;
}
