// Whether sandboxes can be started, and with what. The trial is made once; later probes repeat only what is cheap.
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { asServiceError } from '../../domain/errors.ts';
import type { ProbeReport } from '../provider.ts';
import type { RunnerChoice } from './runner.ts';
import type { UserspaceState } from './state.ts';

type Finding = ProbeReport['findings'][number];

const PROGRAM_FOLDERS = ['usr/local/bin', 'usr/bin', 'bin'];

/** Never throws; settles when `signal` aborts, while the trial goes on for the next probe. */
export async function probeUserspace(
  state: UserspaceState,
  runners: RunnerChoice,
  signal: AbortSignal,
): Promise<ProbeReport> {
  try {
    const runner = await orAbort(runners.choose(), signal);
    const { cgroups } = await state.prepare();
    const findings = [
      { name: 'runner', ok: true, message: `${runner.name} works.` },
      limitsFinding([...cgroups.places.keys()]),
      ...(await Promise.all(state.config.languages.map((name) => languageFinding(state, name)))),
    ];
    return { healthy: true, findings };
  } catch (error) {
    const message = describe(error, signal);
    return { healthy: false, message, findings: [{ name: 'runner', ok: false, message }] };
  }
}

function describe(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'The probe did not end in time.';
  const { message, remedy } = asServiceError(error);
  return remedy ? `${message} ${remedy}` : message;
}

function limitsFinding(bounded: string[]): Finding {
  if (bounded.length > 0)
    return { name: 'limits', ok: true, message: `cgroups bound ${bounded.join(', ')}.` };
  return {
    name: 'limits',
    ok: false,
    message:
      'No cgroup can be made here: memory is limited for each process, not in sum. Delegate a cgroup to the service.',
  };
}

async function languageFinding(state: UserspaceState, name: string): Promise<Finding> {
  const root = state.config.rootfs_path || '/';
  for (const folder of PROGRAM_FOLDERS)
    if (await isProgram(join(root, folder, name))) return { name, ok: true, message: `${name} is there.` };
  return { name, ok: false, message: `${name} is not in the root that sandboxes get. Install it there.` };
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
