// A command with an Idempotency-Key. It runs detached inside the sandbox, where the agent keeps key, body and result:
// a repeat finds it from any server, and nothing is kept here. It runs on when its caller disconnects.
import type { ExecSpec, SandboxIo } from '../../agent/io.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import { keyedExecId } from '../../domain/exec-key.ts';
import { fingerprint } from '../../domain/fingerprint.ts';
import type { Clock } from '../../domain/ports.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { ExecEnded, KeyableRequest, StreamedLine, UserRequest } from '../api/execs.ts';
import type { NoteEnd } from '../records/exec-log.ts';
import { attachTo } from './detached.ts';
import { execLines } from './exec-lines.ts';
import { execResult } from './exec-run.ts';
import { type ExecCall, type ExecDeps, execSpec, noteEnd } from './exec-start.ts';

export type KeyedRequest = KeyableRequest & { idempotencyKey: string };

export const isKeyed = (request: KeyableRequest | UserRequest): request is KeyedRequest =>
  request.idempotencyKey !== undefined;

/** Resolves when it runs or has run. Throws `conflict` for another body, `bad_request` where no agent keeps keys. */
export async function detachKeyed(
  deps: ExecDeps,
  id: string,
  { idempotencyKey, ...request }: KeyedRequest,
  { caller, signal }: ExecCall,
): Promise<{ exec_id: string; row: SandboxRecord; isRepeat: boolean; noted: NoteEnd }> {
  const { access, publisher } = deps;
  const known = await access.findWithQuota(id, caller);
  const { sandbox: row } = known;
  const spec = {
    ...execSpec(deps, request, known),
    exec_id: keyedExecId(id, idempotencyKey),
    body: fingerprint('/exec', request),
  };
  const { exec_id } = spec;
  if (spec.stdin)
    throw new ServiceError('bad_request', 'A command with an Idempotency-Key has no standard input.', {
      remedy: 'Write the input to a file first.',
    });
  const isRepeat = await access.use(row, signal, (io) =>
    started(io, spec).catch((error: unknown) => {
      publisher.refusal('exec', row, error, caller.actor);
      throw error;
    }),
  );
  if (isRepeat) return { exec_id, row, isRepeat, noted: () => {} };
  publisher.note('exec.started', row, { exec_id }, caller.actor);
  const noted = deps.log.started({ sandbox_id: row.id, exec_id }, request, caller.actor);
  return { exec_id, row, isRepeat, noted };
}

/** Whether it has run before. Ignores the signal of the caller, who may disconnect and ask again. */
async function started(io: SandboxIo, spec: ExecSpec): Promise<boolean> {
  if (!io.keepsKeys)
    throw new ServiceError(
      'bad_request',
      'The provider of this sandbox does not support Idempotency-Key for commands.',
      { remedy: 'Send the command without the header, or use a sandbox of userspace, container or microvm.' },
    );
  const exec = io.exec(spec);
  await exec.exit;
  return exec.isRepeat?.() === true;
}

/** The kept output, for repeats too. The end is not an event when nobody waits for the command any more. */
export async function keyedResult(
  deps: ExecDeps,
  id: string,
  request: KeyedRequest,
  call: ExecCall & { hold: Hold },
): Promise<ExecEnded> {
  const { exec_id, row, isRepeat, noted } = await detachKeyed(deps, id, request, call);
  const { exec: course } = await attachTo(deps, { id, exec_id }, { follow: true }, call);
  await course.output[Symbol.asyncIterator]().return?.();
  const exit = await course.exit;
  if (!isRepeat) noteEnd({ ...deps, row, by: call.caller.actor }, exec_id, exit);
  noted(exit);
  const view = await attachTo(deps, { id, exec_id }, { encoding: request.encoding }, call);
  return execResult(view, deps.settings.exec.maxOutputBytes, call.hold);
}

/** Rejects for every failure before the first line. */
export async function keyedLines(
  deps: ExecDeps & { clock: Clock },
  id: string,
  request: KeyedRequest,
  call: ExecCall,
): Promise<AsyncIterable<StreamedLine>> {
  const { exec_id, row, isRepeat, noted } = await detachKeyed(deps, id, request, call);
  const view = await attachTo(deps, { id, exec_id }, { follow: true, encoding: request.encoding }, call);
  if (!isRepeat)
    view.exec.exit.then(
      (exit) => {
        noteEnd({ ...deps, row, by: call.caller.actor }, exec_id, exit);
        noted(exit);
      },
      () => undefined,
    );
  return execLines(view, deps.clock, call.signal);
}
