// Chooses KVM or emulation. /dev/kvm can open, and even create a machine, and still never run a guest (nested virtualisation
// often does), so that a trial guest is booted: one without an image, which ends by itself.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { fileIdentity } from '../../host/disk.ts';
import type { MicrovmDeps } from './folders.ts';
import type { Accelerator, MonitorKind, Trial } from './monitor-kind.ts';

const TRIAL_MS = 10_000;
const KEPT_MS = 3_600_000;
/** The pause after an inconclusive trial. */
const PAUSE_MS = 300_000;
const DEVICE = '/dev/kvm';

export type AcceleratorKind = Accelerator['kind'];

/**
 * As `chooseAccelerator`, cached for an hour. Another monitor or kernel is tried before it is used. An expired result still
 * answers while one new trial runs for all callers, and stays after an inconclusive trial, which repeats in minutes. A failure
 * is not kept.
 */
export function acceleratorSource(
  deps: MicrovmDeps,
  kind: MonitorKind,
): (trial: Trial) => Promise<AcceleratorKind> {
  const { clock } = deps;
  let known: { about: string; until: number; choice: Promise<AcceleratorKind> } | undefined;
  const remember = (about: string, works: Promise<boolean | undefined>) => {
    const choice = works.then((itDoes) => choiceFor(deps, kind, itDoes ?? false));
    const fresh = { about, until: clock.monotonic() + KEPT_MS, choice };
    known = fresh;
    works
      .then((itDoes) => {
        if (itDoes === undefined) fresh.until = clock.monotonic() + PAUSE_MS;
        return choice;
      })
      .catch(() => {
        if (known === fresh) known = undefined;
      });
    return choice;
  };
  const lookAgain = async (trial: Trial, before: NonNullable<typeof known>) => {
    before.until = clock.monotonic() + PAUSE_MS;
    const works = await kvmWorks(deps, kind, trial).catch(() => undefined);
    if (works === undefined || known !== before) return;
    await remember(before.about, Promise.resolve(works)).catch(() => undefined);
  };
  return async (trial) => {
    const about = await aboutOf(deps, kind, trial);
    if (known?.about !== about) return remember(about, kvmWorks(deps, kind, trial));
    if (clock.monotonic() >= known.until) void lookAgain(trial, known);
    return known.choice;
  };
}

/** Everything that a verdict depends on. */
async function aboutOf(
  { host }: MicrovmDeps,
  { title }: MonitorKind,
  { monitor, kernel }: Trial,
): Promise<string> {
  return [host.bootId, title, monitor.version, await fileIdentity(monitor.path), kernel].join(' ');
}

/**
 * What the configuration names, or what works. Throws `unavailable` when it names kvm, or the monitor has nothing else,
 * and that does not work.
 */
export async function chooseAccelerator(
  deps: MicrovmDeps,
  kind: MonitorKind,
  trial: Trial,
): Promise<AcceleratorKind> {
  return choiceFor(deps, kind, (await kvmWorks(deps, kind, trial)) ?? false);
}

function choiceFor({ config }: MicrovmDeps, kind: MonitorKind, works: boolean): AcceleratorKind {
  const { accelerator } = config;
  if (works) return 'kvm';
  if (accelerator === 'emulation' && kind.emulates) return 'emulation';
  if (accelerator === 'auto' && kind.emulates) return 'emulation';
  throw accelerator === 'emulation' ? noEmulation(kind) : noKvm(kind);
}

function noEmulation({ title }: MonitorKind): ServiceError {
  return new ServiceError('unavailable', `${title} cannot emulate a machine.`, {
    remedy: 'Set providers.microvm.accelerator to kvm, or providers.microvm.monitor to qemu.',
  });
}

function noKvm({ emulates }: MonitorKind): ServiceError {
  const other = emulates ? 'providers.microvm.accelerator' : 'providers.microvm.monitor to qemu';
  return new ServiceError('unavailable', 'KVM cannot boot a guest on this host.', {
    remedy: `Enable (nested) virtualisation and access to /dev/kvm, or set ${other}.`,
  });
}

/** False where KVM is not wanted; undefined after an inconclusive trial. */
async function kvmWorks(deps: MicrovmDeps, kind: MonitorKind, trial: Trial): Promise<boolean | undefined> {
  if (deps.config.accelerator === 'emulation' || !(await deps.host.mayWrite(DEVICE))) return false;
  const about = await aboutOf(deps, kind, trial);
  const now = deps.clock.now();
  const known = await readFile(trial.memoFile, 'utf8').then(parse, () => undefined);
  if (known?.about === about && known.at <= now && now < known.at + KEPT_MS) return known.kvm;
  const kvm = await bootsGuest(deps, kind, trial);
  if (kvm === undefined) return undefined;
  const memo = JSON.stringify({ about, at: now, kvm });
  await writeFile(trial.memoFile, memo, { mode: 0o600 }).catch(() => undefined);
  return kvm;
}

function parse(text: string): { about: string; at: number; kvm: boolean } | undefined {
  try {
    const { about, at, kvm } = JSON.parse(text) as Record<string, unknown>;
    const isOurs = typeof about === 'string' && typeof at === 'number' && typeof kvm === 'boolean';
    return isOurs ? { about, at, kvm } : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined when the trial did not start or not end by itself: on a busy machine that says nothing about KVM. */
async function bootsGuest(
  { host }: MicrovmDeps,
  kind: MonitorKind,
  trial: Trial,
): Promise<boolean | undefined> {
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), 'svc-kvm-'));
    const args = await kind.trialArguments(trial, folder);
    const { code } = await host.run(trial.monitor.path, args, { timeoutMs: TRIAL_MS });
    return code === null ? undefined : code === 0;
  } catch {
    return undefined;
  } finally {
    if (folder) await rm(folder, { recursive: true, force: true });
  }
}
