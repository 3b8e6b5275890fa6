/* Failures of unpacking by kind, so that the server can tell a hostile archive from a full disk. */
#ifndef SVC_IMAGE_FAULT_H
#define SVC_IMAGE_FAULT_H

/* Exit statuses of `svc-agent unpack`. */
enum fault {
	FAULT_SYSTEM = 1,  /* a system call failed */
	FAULT_USAGE = 2,
	FAULT_ARCHIVE = 3, /* the archive is damaged, hostile or of an unknown format */
	FAULT_LIMIT = 4,   /* more bytes or entries than allowed */
	FAULT_ROOM = 5,    /* the disk or its quota is full */
	FAULT_CONFINE = 6, /* this host refuses the namespaces or the filter */
};

/* Each keeps the words in `failure` (base/failure.h) and returns -1. The first failure counts. */
int refuse(const char *words);
int beyond(const char *words);
/* Adds the meaning of errno to the words. */
int fail_system(const char *words);
int fail_confine(const char *words);
/* The kind of the last failure. */
enum fault fault_kind(void);

#endif
