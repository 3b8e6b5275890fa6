// The long form of what is asked of guests from a template: a Debian root each, whose Python says what has to differ. A
// hundred of them, emulated, take some minutes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { type RecordingLogger, recordingLogger } from '../support/fakes/ports.ts';
import { guestImage } from '../support/hosts/guest-images.ts';
import { type MicrovmHome, microvmHome } from '../support/hosts/microvm.ts';
import { freshId, runInside, runtimeSpec } from '../support/hosts/userspace.ts';
import { until } from '../support/until.ts';

const ASK = `
import secrets, socket
print(secrets.token_hex(32))
for path in ('/proc/sys/kernel/random/boot_id', '/etc/machine-id', '/etc/hostname'): print(open(path).read().strip())
print(socket.gethostname())
`;
const CLOCK_TRIES = 30;
/** s: no need to look closer. */
const CLOCK_SURE = 0.5;
const signal = new AbortController().signal;

/** One after the other, each ended before the next is started. */
export function pythonClones(count: number): void {
  let place: MicrovmHome;
  let log: RecordingLogger;
  let provider: Provider;

  beforeAll(async () => {
    place = microvmHome();
    log = recordingLogger();
    provider = place.provider({ images: { debian: guestImage('debian') } }, { logger: log });
    await clone();
    await until('a template', async () => (await provider.snapshots?.(signal))?.length === 1, 120_000);
  }, 300_000);
  afterAll(async () => {
    await provider.close();
    place.remove();
  });

  const clone = async () => {
    const ref = { id: freshId(), epoch: 1 };
    await provider.create(runtimeSpec(ref.id, { memory_mb: 192 }), signal);
    const io = await provider.attach(ref, signal);
    const off = await clockBound(io);
    const { stdout } = await runInside(io, ['python3', '-c', ASK]);
    io.close();
    await provider.destroy(ref, signal);
    return { id: ref.id, off, facts: stdout.trim().split('\n') };
  };

  it('share no random numbers and no identity, and know the time within a second', async () => {
    const seen: Awaited<ReturnType<typeof clone>>[] = [];
    while (seen.length < count) seen.push(await clone());
    for (const { id, facts } of seen) expect(facts.slice(3)).toEqual([id, id]);
    const distinct = [0, 1, 2, 3].map((fact) => new Set(seen.map(({ facts }) => facts[fact])).size);
    expect(distinct).toEqual([count, count, count, count]);
    const off = Math.max(...seen.map((each) => each.off));
    console.log(
      `${count} clones of Debian, all distinct; their clocks are off by ${off.toFixed(3)} s at most`,
    );
    expect(off).toBeLessThanOrEqual(1);
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  }, 3_600_000);
}

/**
 * s that the guest's clock is off at most: what it says lies between two looks at ours. A busy machine makes that wide, so
 * the narrowest of some tries counts; a clock that is off fails all of them.
 */
async function clockBound(io: SandboxIo): Promise<number> {
  let bound = Number.POSITIVE_INFINITY;
  for (let n = 0; n < CLOCK_TRIES && bound > CLOCK_SURE; n += 1) {
    const before = Date.now() / 1000;
    const { stdout } = await runInside(io, ['date', '+%s.%N']);
    const after = Date.now() / 1000;
    const said = Number(stdout);
    bound = Math.min(bound, Math.max(Math.abs(said - before), Math.abs(said - after)));
  }
  return bound;
}
