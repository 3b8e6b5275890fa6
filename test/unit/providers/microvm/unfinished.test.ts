// What a server that was killed while it saved a snapshot leaves: its guest, which the next one's first list ends. Files and
// processes are real; `sleep` stands for the monitor.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { realRandom } from '../../../../src/host/random.ts';
import { parseStat } from '../../../../src/providers/local/processes.ts';
import type { MicrovmDeps } from '../../../../src/providers/microvm/folders.ts';
import { microvmProvider } from '../../../../src/providers/microvm/microvm.ts';
import type { RuntimeRecord } from '../../../../src/providers/microvm/record.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import { silentLogger } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

const signal = new AbortController().signal;
const RECORDED = 'template-00000000000000aa.0';
const UNRECORDED = 'template-00000000000000bb.0';
const SANDBOX = 'sb-aaaaaaaaaaaa.1';

function ground() {
  const home = temporaryFolder();
  const id = `${process.pid.toString(16).padStart(8, '0')}-0001-4000-8000-000000000000`;
  const short = `${id.replaceAll('-', '').slice(0, 12)}v`;
  const runs = join(home, 'svc', short);
  const overlays = join(home, 'overlays', short);
  mkdirSync(overlays, { recursive: true });
  const deps = {
    // An ordinary user's, whose runs are below runtimeDir.
    host: fakeHost({ uid: 1000 }),
    clock: realClock(),
    random: realRandom(),
    logger: silentLogger,
    config: { data_dir: home, images: {}, monitor: 'qemu', overlay_mb: 64, snapshots: true },
    instance: { id, key: '' },
    imageStore: { path: join(home, 'store') },
    packageRoot: home,
    runtimeDir: home,
  } as unknown as MicrovmDeps;
  const plant = (name: string) => {
    mkdirSync(join(runs, name), { recursive: true });
    writeFileSync(join(overlays, name), 'what the guest changed');
    return join(runs, name);
  };
  return { provider: microvmProvider(deps), runs, overlays, plant };
}

/** Names itself by `argv0`. */
function monitor(argv0 = 'sleep'): ChildProcess {
  const child = spawn('sleep', ['1000'], { argv0, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

function recordOf({ pid = 0 }: ChildProcess): RuntimeRecord {
  const started = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.start ?? 0;
  const texts = { instance: 'i', id: 'i', image: 'i', created_at: 'now', expires_at: 'then' };
  return { ...texts, epoch: 0, boot_id: 'boot', pid, pid_start: started };
}

it('is ended by the next list with its disk and folder, recorded or not; sandboxes stay', async () => {
  const { provider, runs, overlays, plant } = ground();
  const recorded = monitor();
  const unrecorded = monitor(join(plant(UNRECORDED), 'pid'));
  const sandbox = monitor();
  for (const [name, child] of [
    [RECORDED, recorded],
    [SANDBOX, sandbox],
  ] as const)
    writeFileSync(join(plant(name), 'runtime.json'), JSON.stringify(recordOf(child)));

  expect((await provider.list?.(signal))?.map(({ id, state }) => [id, state])).toEqual([
    ['sb-aaaaaaaaaaaa', 'running'],
  ]);
  expect([readdirSync(runs), readdirSync(overlays)]).toEqual([[SANDBOX], [SANDBOX]]);
  const ended = [recorded, unrecorded].map((child) => until('its end', () => child.signalCode));
  expect(await Promise.all(ended)).toEqual(['SIGKILL', 'SIGKILL']);
  expect(sandbox.signalCode).toBeNull();
});
