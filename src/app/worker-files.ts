// What a worker reads again before each heartbeat: its credential and its certificates. All else waits for a restart.
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Clock, Ids, Logger } from '../domain/ports.ts';
import type { WorkerAuth } from '../domain/worker-secret.ts';
import type { OutgoingTls } from '../providers/outgoing/connect.ts';
import type { Outgoing } from '../providers/outgoing/outgoing.ts';
import { requireCallable, type WorkerCredential, workerCredential } from '../worker/credential.ts';
import type { RpcServer } from '../worker/rpc-server.ts';

/** Calls that are under way on the old line are answered by then. */
const OLD_LINE_MS = 15_000;

export interface WorkerFiles {
  auth: WorkerAuth;
  tls: OutgoingTls;
}

export interface WorkerFilesDeps {
  id: string;
  /** As they were at the start. */
  files: WorkerFiles;
  /** As they are now. */
  read(): Promise<WorkerFiles>;
  /** To the control plane. */
  line(tls: OutgoingTls): Outgoing;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Always by the newest of them that could be used. */
export interface ChangingFiles {
  credential: WorkerCredential;
  outgoing: Pick<Outgoing, 'request'>;
  /** Takes over what has changed, all of it or nothing; never rejects. `calls` is who is called by the certificate. */
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
      // A certificate and a key that do not fit are half of a change.
      createSecureContext(next.tls);
      const { cert, key } = next.tls;
      if (cert !== undefined && key !== undefined) calls?.secure({ ...next.tls, cert, key });
      const old = line;
      line = deps.line(next.tls);
      clock.after(OLD_LINE_MS, () => void old.close());
    }
    [credential, files] = [proof, next];
    logger.info({ worker_id: id }, 'A changed credential or certificate is taken over.');
  };
  return {
    credential: {
      get isReadyMade() {
        return credential.isReadyMade;
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
          logger.warn({ err }, 'A credential or certificate cannot be used: the old one stays.');
        isFailing = true;
      }
    },
    close: () => line.close(),
  };
}
