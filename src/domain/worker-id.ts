// Names of workers. They go into headers, paths, labels and file names.

const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The server itself, as a worker; no remote one may have this name. */
export const LOCAL_WORKER = 'local';

export const isWorkerId = (text: string): boolean => WORKER_ID.test(text);
