// Worker ids. They are used in headers, paths, labels and file names.

const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The server itself as a worker. Remote workers cannot have this id. */
export const LOCAL_WORKER = 'local';

export const isWorkerId = (text: string): boolean => WORKER_ID.test(text);
