/* The stages of /init, process 1 of a virtual machine: it starts in the initramfs and becomes the agent. Root in the
 * guest controls its kernel: the machine is the boundary. */
#ifndef SVC_VM_H
#define SVC_VM_H

#include <stdbool.h>

#include "base/failure.h"
#include "base/settings.h"
#include "net/gate-space.h"

/* Returns whether this program was started as /init of an initramfs. */
int vm_is_init(int argc, char **argv);
/* Returns whether it has become an agent that serves. */
bool vm_is_guest(void);
/* Boots and serves; does not return: a failure is reported on the console, and the machine ends. (vm.c) */
_Noreturn void vm_main(void);

/* Reads the settings that the monitor holds: 0, 1 when the monitor holds none, -1. (vm-settings.c) */
int vm_settings(struct settings *s);
/* Reads them from the settings disk, which is then detached. Call when its driver is loaded. (vm-drive.c) */
int vm_drive(struct settings *s);
/* Loads the modules of the initramfs, except those that the settings exclude by without=. (vm-modules.c) */
int vm_modules(const struct settings *s);
/* Disks have serial numbers; with unnamed_disks=1 the monitor sets those itself, and there is at most one writable disk
 * and at most one read-only disk. */
struct vm_disk_kind {
	const char *serial;
	bool is_read_only;
};
/* Finds the device node of that disk: 0, 1 when there is none, -1. (vm-disks.c) */
int vm_disk(const struct settings *s, const struct vm_disk_kind *kind, char *node, size_t size);
/* Returns whether it is a virtio disk that is, or is not, writable. */
bool vm_disk_is(const char *name, bool is_read_only);
/* Makes the image with private changes on top the root, and mounts the usual system file systems. (vm-root.c) */
int vm_root(const struct settings *s);
/* Sets host name, /etc/hosts, machine id; loopback, and with network=user the card. (vm-identity.c, vm-network.c) */
int vm_identity(const struct settings *s);
/* The same for a restored guest: the name, and a machine id from new random bytes. */
int vm_name(const char *name);
int vm_network(const struct settings *s);
/* Makes a gate, and has the guest's resolver ask it. (vm-network.c) */
int vm_gate(int sockets[GATE_SOCKETS]);
/* Opens the agent's port: returns the descriptor, or -1. A port can be opened once. (vm-port.c) */
int vm_port(void);
/* Listens for the host on that vsock port: returns the descriptor, or -1. (vm-vsock.c) */
int vm_vsock(unsigned port);
/* Copies the kernel log to the sandbox's console, starting with its earlier lines. (vm-kernel-log.c) */
void vm_kernel_log(void);
/* Writes a small file completely, replacing an existing one. (vm-files.c) */
int vm_write(const char *path, const char *text);
/* Reads the start of a file without its newline; -1 when it cannot be read. (vm-files.c) */
int vm_read(const char *path, char *text, size_t size);

#endif
