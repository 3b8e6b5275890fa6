// A command with an Idempotency-Key. It runs detached inside the sandbox, where the agent keeps key, body and result:
// a repeat finds it from any server, and nothing is kept here. It runs on when its caller disconnects.
import type { SandboxIo } from '../../agent/io.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import { keyedExecId } from '../../domain/exec-key.ts';
import { fingerprint } from '../../domain/fingerprint.ts';
import type { Clock } from '../../domain/ports.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { ExecEnded, KeyableRequest, StreamedLine } from '../api/execs.ts';
import type { NoteEnd } from '../records/exec-log.ts';
import { attachTo } from './detached.ts';
import { execLines } from './exec-lines.ts';
import { execResult } from './exec-run.ts';
import { type ExecDeps, execSpec, noteEnd } from './exec-start.ts';

export type KeyedRequest = KeyableRequest & { idempotencyKey: string };

interface Asked {
  caller: Caller;
  signal: AbortSignal;
}

export const isKeyed = (request: KeyableRequest): request is KeyedRequest =>
  request.idempotencyKey !== undefined;

/**
 * Resolves when the command runs or has run before. Throws `conflict` for another body, `bad_request` where no agent
 * keeps keys.
 */
export async function detachKeyed(
  deps: ExecDeps,
  id: string,
  { idempotencyKey, ...request }: KeyedRequest,
  { caller, signal }: Asked,
): Promise<{ exec_id: string; row: SandboxRecord; isRepeat: boolean; noted: NoteEnd }> {
  const { access, publisher } = deps;
  const row = await access.find(id, caller);
  const spec = {
    ...(await execSpec(deps, request, row)),
    exec_id: keyedExecId(id, idempotencyKey),
    body: fingerprint('/exec', request),
  };
  if (spec.stdin) throw noInput();
  let noted: NoteEnd = () => {};
  const held = await access.open(row, signal);
  try {
    if (!held.io.keepsKeys) throw notKept();
    const isRepeat = await started(held.io, spec);
    const ids = { sandbox_id: row.id, exec_id: spec.exec_id };
    if (!isRepeat) {
      publisher.note('exec.started', row, { exec_id: spec.exec_id }, caller.actor);
      noted = deps.log.started(ids, request, caller.actor);
    }
    held.release();
    return { exec_id: spec.exec_id, row, isRepeat, noted };
  } catch (error) {
    publisher.refusal('exec', row, error, caller.actor);
    held.release(error);
    throw error;
  }
}

/** Ignores the signal of the caller, who may disconnect and ask again. */
async function started(io: SandboxIo, spec: Parameters<SandboxIo['exec']>[0]): Promise<boolean> {
  const exec = io.exec(spec);
  await exec.exit;
  return exec.isRepeat?.() === true;
}

/**
 * The kept output, for the first caller and for repeats alike. When nobody waits for the command any more, its end is
 * not an event.
 */
export async function keyedResult(
  deps: ExecDeps,
  id: string,
  request: KeyedRequest,
  asked: Asked & { hold: Hold },
): Promise<ExecEnded> {
  const { exec_id, row, isRepeat, noted } = await detachKeyed(deps, id, request, asked);
  const { exec: course } = await attachTo(deps, { id, exec_id }, true, asked);
  await course.output[Symbol.asyncIterator]().return?.();
  const exit = await course.exit;
  if (!isRepeat) noteEnd({ ...deps, row, by: asked.caller.actor }, exec_id, exit);
  noted(exit);
  const { exec, io } = await attachTo(deps, { id, exec_id }, false, asked);
  const view = { sandbox_id: id, exec, io, encoding: request.encoding ?? 'utf8', attached: exec };
  return execResult(view, deps.settings.exec.maxOutputBytes, asked.hold);
}

/** Rejects for every failure before the first line. */
export async function keyedLines(
  deps: ExecDeps & { clock: Clock },
  id: string,
  request: KeyedRequest,
  asked: Asked,
): Promise<AsyncIterable<StreamedLine>> {
  const { exec_id, row, isRepeat, noted } = await detachKeyed(deps, id, request, asked);
  const { exec, io } = await attachTo(deps, { id, exec_id }, true, asked);
  if (!isRepeat)
    exec.exit.then(
      (exit) => {
        noteEnd({ ...deps, row, by: asked.caller.actor }, exec_id, exit);
        noted(exit);
      },
      () => undefined,
    );
  const view = { sandbox_id: id, exec, io, encoding: request.encoding ?? 'utf8', attached: exec };
  return execLines(view, { clock: deps.clock, signal: asked.signal });
}

function noInput(): ServiceError {
  return new ServiceError('bad_request', 'A command with an Idempotency-Key has no standard input.', {
    remedy: 'Write the input to a file first.',
  });
}

function notKept(): ServiceError {
  return new ServiceError(
    'bad_request',
    'The provider of this sandbox does not support Idempotency-Key for commands.',
    {
      remedy: 'Send the command without the header, or use a sandbox of userspace, container or microvm.',
    },
  );
}
