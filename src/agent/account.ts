// One user of a sandbox: a child with that user's rights does the work (agent/PROTOCOL.md, "Accounts").
import { startExec } from './exec.ts';
import { sandboxFiles } from './files.ts';
import type { AccountIo } from './io.ts';
import { KIND, METHOD, TYPE } from './protocol.ts';
import { Requests, type SendRequest } from './requests.ts';

const { exec, read, write, list, glob, watch, pack, unpack } = KIND;
const { stat, mkdir, move, chmod, remove } = METHOD;
/** What the agent does as a user; the rest concerns a command that runs, or the session. */
const DONE_AS_USER: Record<number, readonly number[]> = {
  [TYPE.OPEN]: [exec, read, write, list, glob, watch, pack, unpack],
  [TYPE.CALL]: [stat, mkdir, move, chmod, remove],
};

/** `session`: the requests of the entire sandbox. */
export function accountIo(session: Requests, name: string, capabilities: number): AccountIo {
  const send: SendRequest = (request, signal) =>
    session.send(
      DONE_AS_USER[request.type]?.includes(request.code) ? { ...request, account: name } : request,
      signal,
    );
  const { clock, fault, bytesReceived } = session;
  const requests = new Requests({ clock, send, fault, bytesReceived });
  return {
    exec: (spec, signal) => startExec(requests, spec, signal),
    files: sandboxFiles(requests, capabilities),
  };
}
