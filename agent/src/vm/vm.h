/* The stages of /init, process 1 of a virtual machine: it comes from the initramfs and stays as the agent. Whoever is
 * root in the guest may do with its kernel what it likes: the wall is the machine. */
#ifndef SVC_VM_H
#define SVC_VM_H

#include <stdbool.h>

#include "base/failure.h"
#include "base/settings.h"

/* Whether this program was started as /init of an initramfs. */
int vm_is_init(int argc, char **argv);
/* Whether it has become one that serves. */
bool vm_is_guest(void);
/* Boots and serves; does not return: what fails is said on the console, and the machine ends. (vm.c) */
_Noreturn void vm_main(void);

/* Reads the settings that the monitor holds: 0, 1 when it is a monitor that holds none, -1. (vm-settings.c) */
int vm_settings(struct settings *s);
/* Reads them from the disk that has them, which is then gone. Only when its driver is there. (vm-drive.c) */
int vm_drive(struct settings *s);
/* Loads the modules of the initramfs, but those that the settings name by without=. (vm-modules.c) */
int vm_modules(const struct settings *s);
/* Disks are known by their serial numbers; with unnamed_disks=1 the monitor gives those itself, and there is one that can
 * be written at most, and one that cannot. */
struct vm_disk_kind {
	const char *serial;
	bool is_read_only;
};
/* The device node of that disk: 0, 1 when there is none, -1. (vm-disks.c) */
int vm_disk(const struct settings *s, const struct vm_disk_kind *kind, char *node, size_t size);
/* Whether it is a disk of virtio that can, or cannot, be written. */
bool vm_disk_is(const char *name, bool is_read_only);
/* Makes the image with private changes on top the root, and mounts what a system expects. (vm-root.c) */
int vm_root(const struct settings *s);
/* Host name, /etc/hosts, machine id; loopback, and with network=user the card. (vm-identity.c, vm-network.c) */
int vm_identity(const struct settings *s);
/* The same for a guest that is a copy of another one: the name, and a machine id from fresh randomness. */
int vm_name(const char *name);
int vm_network(const struct settings *s);
/* Opens the agent's port: the descriptor, or -1. A port can be opened once. (vm-port.c) */
int vm_port(void);
/* Listens for the host on that port of the vsock: the descriptor, or -1. (vm-vsock.c) */
int vm_vsock(unsigned port);
/* From now on what the kernel says stands in the sandbox's console, what it has said first. (vm-kernel-log.c) */
void vm_kernel_log(void);
/* Writes a small file whole, in place of what was there. (vm-files.c) */
int vm_write(const char *path, const char *text);
/* The first bytes of a file without its line end; -1 when it cannot be read. (vm-files.c) */
int vm_read(const char *path, char *text, size_t size);

#endif
