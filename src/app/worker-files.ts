// Rereads a worker's credential and certificates before each heartbeat. All other changes need a restart.
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Clock, Ids, Logger } from '../domain/ports.ts';
import type { WorkerAuth } from '../domain/worker-secret.ts';
import type { OutgoingTls } from '../providers/outgoing/connect.ts';
import type { Outgoing } from '../providers/outgoing/outgoing.ts';
import { requireCallable, type WorkerCredential, workerCredential } from '../worker/credential.ts';
import type { RpcServer } from '../worker/rpc-server.ts';

/** Calls in flight on the old connection finish within this time. */
const OLD_LINE_MS = 15_000;

export interface WorkerFiles {
  auth: WorkerAuth;
  tls: OutgoingTls;
}

export interface WorkerFilesDeps {
  id: string;
  /** The files at the start. */
  files: WorkerFiles;
  /** Reads the current files. */
  read(): Promise<WorkerFiles>;
  /** Opens a connection to the control plane. */
  line(tls: OutgoingTls): Outgoing;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Uses the newest valid files. */
export interface ChangingFiles {
  credential: WorkerCredential;
  outgoing: Pick<Outgoing, 'request'>;
  /** Applies changed files, all of them or none; never rejects. `calls` is the server whose certificate changes. */
  refresh(calls: Pick<RpcServer, 'secure'> | undefined): Promise<void>;
  close(): Promise<void>;
}

/** Throws as `workerCredential` does. */
export function changingFiles(deps: WorkerFilesDeps): ChangingFiles {
  const { id, clock, logger } = deps;
  let files = deps.files;
  let credential = workerCredential(files.auth, id, deps);
  let line = deps.line(files.tls);
  let isFailing = false;
  const take = (next: WorkerFiles, calls: Pick<RpcServer, 'secure'> | undefined) => {
    const proof = workerCredential(next.auth, id, deps);
    if (calls) requireCallable(proof);
    if (!isDeepStrictEqual(next.tls, files.tls)) {
      // A certificate that does not match its key is half of a change.
      createSecureContext(next.tls);
      const { cert, key } = next.tls;
      if (cert !== undefined && key !== undefined) calls?.secure({ ...next.tls, cert, key });
      const old = line;
      line = deps.line(next.tls);
      clock.after(OLD_LINE_MS, () => void old.close());
    }
    [credential, files] = [proof, next];
    logger.info({ worker_id: id }, 'Credential or certificate changed; using the new one.');
  };
  return {
    credential: {
      get isReadyMade() {
        return credential.isReadyMade;
      },
      get isOwn() {
        return credential.isOwn;
      },
      token: () => credential.token(),
      requireCaller: (presented) => credential.requireCaller(presented),
      requireLease: (lease, terms) => credential.requireLease(lease, terms),
    },
    outgoing: { request: (ask) => line.request(ask) },
    refresh: async (calls) => {
      try {
        const next = await deps.read();
        if (!isDeepStrictEqual(next, files)) take(next, calls);
        isFailing = false;
      } catch (err) {
        if (!isFailing)
          logger.warn({ err }, 'New credential or certificate is invalid; keeping the old one.');
        isFailing = true;
      }
    },
    close: () => line.close(),
  };
}
