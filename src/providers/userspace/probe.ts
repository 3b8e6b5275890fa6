// Whether sandboxes can start, and with which runner. The trial runs once; later probes repeat only cheap checks.
import { access, constants, lstat, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { asServiceError } from '../../domain/errors.ts';
import { abortable } from '../../domain/timeout.ts';
import type { Finding } from '../findings.ts';
import type { CgroupHost } from '../local/cgroup-host.ts';
import { UnusableFolder } from '../local/instance-folders.ts';
import type { ProbeReport } from '../provider.ts';
import { missingLimits } from './limits.ts';
import type { RunnerChoice } from './runner.ts';
import type { UserspaceState } from './state.ts';
import { findUserNetwork, NO_SERVERS } from './user-network.ts';

/** As PATH has them inside. */
const PROGRAM_FOLDERS = ['usr/local/sbin', 'usr/local/bin', 'usr/sbin', 'usr/bin', 'sbin', 'bin'];

/** Never throws. Settles when `signal` aborts; the trial continues for the next probe. */
export async function probeUserspace(
  state: UserspaceState,
  runners: RunnerChoice,
  signal: AbortSignal,
): Promise<ProbeReport> {
  try {
    const runner = await abortable(runners.choose(), signal);
    const { cgroups } = await state.prepare();
    const languages = await abortable(languageFindings(state), signal);
    const findings = [
      { name: 'runner', ok: true, message: `${runner.name} works.` },
      limitsFinding(cgroups),
      ...(state.config.network === 'user' ? [await networkFinding(state)] : []),
      ...languages,
    ];
    const missing = languages.filter(({ ok }) => !ok);
    if (missing.length === 0) return { healthy: true, findings };
    const message = missing.map((finding) => finding.message).join(' ');
    return { healthy: false, message, findings };
  } catch (error) {
    const message = describe(error, signal);
    return { healthy: false, message, findings: [{ name: 'runner', ok: false, message }] };
  }
}

/** Names the configured folder at fault, which only administrators see. */
function describe(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'The probe did not end in time.';
  const { message, remedy, cause } = asServiceError(error);
  const fact = error instanceof UnusableFolder && cause instanceof Error ? ` (${cause.message})` : '';
  return `${message}${fact}${remedy ? ` ${remedy}` : ''}`;
}

function limitsFinding({ folders }: CgroupHost): Finding {
  const missing = missingLimits(folders);
  const message =
    missing.length === 0
      ? `cgroups bound ${[...folders.keys()].join(', ')}.`
      : `${missing.join(' ')} Delegate a cgroup to the service.`;
  return { name: 'limits', ok: missing.length === 0, message };
}

/** The trial of the runner had a network. */
async function networkFinding(state: UserspaceState): Promise<Finding> {
  const { program, servers } = await findUserNetwork(state);
  if (servers.length === 0) return { name: 'network', ok: false, message: NO_SERVERS };
  const message = `${program} connects for sandboxes; name servers: ${servers.join(', ')}.`;
  return { name: 'network', ok: true, message };
}

/** The `languages` are required like the runner: the operator has promised them to users. */
function languageFindings(state: UserspaceState): Promise<Finding[]> {
  return state.slowly(async () => {
    const findings: Finding[] = [];
    for (const name of state.config.languages) findings.push(await languageFinding(state, name));
    return findings;
  });
}

async function languageFinding(state: UserspaceState, name: string): Promise<Finding> {
  const root = state.config.rootfs_path || '/';
  for (const folder of PROGRAM_FOLDERS)
    if (await isProgram(root, `${folder}/${name}`)) return { name, ok: true, message: `${name} is there.` };
  return { name, ok: false, message: `${name} is not in the root that sandboxes get. Install it there.` };
}

/** Whether the sandbox whose root is `root` can run `path`: links lead to where they do inside. */
async function isProgram(root: string, path: string): Promise<boolean> {
  try {
    const found = await resolveInside(root, path);
    await access(found, constants.X_OK);
    return (await lstat(found)).isFile();
  } catch {
    return false;
  }
}

const MOST_LINKS = 40;

async function resolveInside(root: string, path: string): Promise<string> {
  let current = '/';
  let links = 0;
  const left = path.split('/');
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = posix.join(current, name);
    const target = await readlink(join(root, next)).catch(() => undefined);
    if (target === undefined) current = next;
    else if (++links > MOST_LINKS) throw new Error('too many links');
    else {
      if (target.startsWith('/')) current = '/';
      left.unshift(...target.split('/'));
    }
  }
  return join(root, current);
}
