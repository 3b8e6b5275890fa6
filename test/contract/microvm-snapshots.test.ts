// Guests started from a template, emulated: that they are no copies of each other, what they leave of it, and what
// happens when it is no longer what was saved.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSession } from '../../src/agent/session.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { openAgentSocket } from '../../src/providers/local/agent-socket.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { type RecordingLogger, recordingLogger, silentLogger } from '../support/fakes/ports.ts';
import { type MicrovmHome, microvmHome } from '../support/hosts/microvm.ts';
import { freshId, runInside, runtimeSpec } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { pythonClones } from './microvm-clones.suite.ts';

/** 100 is the whole measure, with which as many of Debian are made. */
const LONG = process.env.SVC_TEST_CLONES;
const CLONES = Number(LONG ?? 6);
const AT_ONCE = 3;
const FILES = ['memory', 'state', 'overlay'];
const signal = new AbortController().signal;

const WHO = [
  'head -c 32 /dev/urandom | sha256sum',
  'cat /proc/sys/kernel/random/boot_id /etc/machine-id /etc/hostname',
  'hostname',
].join(';');

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'guests from a template', () => {
  let place: MicrovmHome;
  let provider: Provider;
  let log: RecordingLogger;
  let saved = '';

  beforeAll(async () => {
    place = microvmHome();
    log = recordingLogger();
    provider = place.provider({}, { logger: log });
    await destroyed(await spawned());
    await whole();
    saved = digest();
  });
  afterAll(async () => {
    for (const { id, epoch } of (await provider.list?.(signal)) ?? [])
      await provider.destroy({ id, epoch }, signal);
    await provider.close();
    place.remove();
  });

  const templates = () => {
    const root = join(place.home, 'data/templates');
    return readdirSync(root).flatMap((short) =>
      readdirSync(join(root, short)).map((key) => join(root, short, key)),
    );
  };
  /** A sandbox does not wait for it as long as a busy machine may take. */
  const whole = () =>
    until(
      'a template',
      () => templates().some((folder) => existsSync(join(folder, 'template.json'))),
      120_000,
    );
  const digest = () => {
    const [folder = ''] = templates();
    const hash = createHash('sha256');
    for (const name of FILES) hash.update(readFileSync(join(folder, name)));
    return hash.digest('hex');
  };
  const warnings = () => log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  const spawned = async () => {
    const id = freshId();
    await provider.create(runtimeSpec(id), signal);
    return id;
  };
  const destroyed = (id: string) => provider.destroy({ id, epoch: 1 }, signal);
  const ask = async (id: string, script: string) => {
    const io = await provider.attach({ id, epoch: 1 }, signal);
    const { stdout } = await runInside(io, ['sh', '-c', script]);
    io.close();
    return stdout.trim().split('\n');
  };

  it('are not copies of each other, and leave the snapshot unchanged', async () => {
    const seen: string[][] = [];
    const one = async () => {
      const id = await spawned();
      const answer = await ask(id, WHO);
      expect(answer.slice(3, 5)).toEqual([id, id]);
      seen.push(answer);
      if (seen.length > AT_ONCE) await destroyed(id);
    };
    for (let left = CLONES; left > 0; left -= AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, one));
    for (const fact of [0, 1, 2, 3]) expect(new Set(seen.map((each) => each[fact])).size).toBe(CLONES);
    expect(digest()).toBe(saved);
    expect(warnings()).toEqual([]);
  });

  it('know the time to the second', async () => {
    const id = await spawned();
    const before = Date.now() / 1000;
    const [seconds] = await ask(id, 'date +%s');
    // What the guest says is cut to whole seconds: this is a second either way.
    expect(Number(seconds)).toBeGreaterThan(before - 2);
    expect(Number(seconds)).toBeLessThan(Date.now() / 1000 + 1);
    await destroyed(id);
  });

  it('do not share their writes', async () => {
    const [one, two] = [await spawned(), await spawned()];
    await ask(one, 'echo mine > /root/file; echo mine > /tmp/file; sync');
    expect(await ask(two, 'ls /root /tmp')).not.toContain('file');
    expect(await ask(one, 'cat /root/file /tmp/file')).toEqual(['mine', 'mine']);
    expect(digest()).toBe(saved);
    await Promise.all([one, two].map(destroyed));
  });

  it('do not accept the secret of the saved guest, and their template is read-only', async () => {
    const [folder = ''] = templates();
    const [template] = (await provider.snapshots?.(signal)) ?? [];
    expect(template).toMatchObject({ image: 'busybox', kernel: expect.stringMatching(/^\d/) });
    expect(template?.size).toBeGreaterThan(10 * 1024 * 1024);
    for (const name of FILES) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o400);
    expect(statSync(folder).mode & 0o077).toBe(0);
    const { secret } = JSON.parse(readFileSync(join(folder, 'template.json'), 'utf8'));
    const id = await spawned();
    const stream = await openAgentSocket(join(place.runs, `${id}.1`, 'agent.sock'), signal);
    const deps = { clock: realClock(), random: realRandom(), logger: silentLogger };
    const opening = openSession({ ...deps, stream, secret: Buffer.from(secret, 'hex') }, signal);
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
    await destroyed(id);
  });

  it('start on the next server from the snapshot of this one', async () => {
    const next = place.provider({}, { logger: log });
    const { mtimeMs } = statSync(join(templates()[0] ?? '', 'memory'));
    const id = freshId();
    await next.create(runtimeSpec(id), signal);
    expect(await ask(id, 'hostname')).toEqual([id]);
    expect(statSync(join(templates()[0] ?? '', 'memory')).mtimeMs).toBe(mtimeMs);
    await destroyed(id);
    await next.close();
  });

  it.each([
    ['cut short', (file: string) => truncateSync(file, 1024 * 1024)],
    ['with other content', (file: string) => writeFileSync(file, 'x', { flag: 'r+' })],
  ])('do not start from a memory file %s: the server saves it again', async (_how, spoil) => {
    await whole();
    const before = warnings().length;
    const file = join(templates()[0] ?? '', 'memory');
    chmodSync(file, 0o600);
    spoil(file);
    const id = await spawned();
    expect(await ask(id, 'hostname')).toEqual([id]);
    expect(warnings().slice(before)).toEqual(['Snapshot files changed; creating the snapshot again.']);
    await destroyed(id);
    await whole();
  });

  it('boot when the snapshot cannot be restored', async () => {
    const before = warnings().length;
    const [folder = ''] = templates();
    // As if the state had been saved by another monitor: its record fits, but it cannot be read.
    const record = join(folder, 'template.json');
    const state = join(folder, 'state');
    chmodSync(state, 0o600);
    truncateSync(state, 4096);
    chmodSync(state, 0o400);
    const facts = statSync(state);
    const known = JSON.parse(readFileSync(record, 'utf8'));
    known.files.state = [state, facts.dev, facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(' ');
    writeFileSync(record, JSON.stringify(known));
    const ids = [await spawned(), await spawned()];
    for (const id of ids) expect(await ask(id, 'hostname')).toEqual([id]);
    expect(warnings().slice(before)).toEqual([
      'Snapshot restore failed; booting the VM instead.',
      'Could not create a snapshot; booting VMs instead.',
    ]);
    expect(templates()).toEqual([]);
    await Promise.all(ids.map(destroyed));
  });

  it('boot where the configuration turns snapshots off', async () => {
    const booting = place.provider({ snapshots: false }, { logger: log });
    const id = freshId();
    await booting.create(runtimeSpec(id, { memory_mb: 160 }), signal);
    expect(templates()).toEqual([]);
    expect([provider, booting].map((each) => each.capabilities.includes('snapshots'))).toEqual([true, false]);
    await destroyed(id);
    await booting.close();
  });
});

if (LONG)
  describeWith(['root', 'qemu', 'mke2fs', 'python3'], 'guests of Debian from a template', () =>
    pythonClones(CLONES),
  );
