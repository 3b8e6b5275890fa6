// Virtual machines whose monitor, guest or disk goes wrong: each failure is typed and bounded, and nothing is left.
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { ServiceError } from '../../src/domain/errors.ts';
import { isAlive } from '../../src/providers/local/processes.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { type MicrovmHome, machineProcesses, machineRemains, microvmHome } from '../support/hosts/microvm.ts';
import { freshId, runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

countFaults('monitors and guests of virtual machines');

const MINUTE = 60_000;
const MEBIBYTE = 1024 * 1024;

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'virtual machines that go wrong', () => {
  let place: MicrovmHome;
  let provider: Provider;

  beforeAll(() => {
    place = microvmHome();
    provider = place.provider();
  });
  afterAll(async () => {
    await provider.close();
    expect(existsSync(place.runs)).toBe(false);
    expect(machineProcesses(place.runs)).toEqual([]);
    place.remove();
  });

  const monitorOf = (id: string) =>
    JSON.parse(readFileSync(join(place.runs, `${id}.1`, 'runtime.json'), 'utf8')).pid as number;
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      ({ code }: ServiceError) => code,
    );
  const patient = () => AbortSignal.timeout(MINUTE);

  it(
    'a flooded console and a full disk harm the guest alone; a killed monitor ends its execs',
    async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), patient());
      const io = await provider.attach({ id, epoch: 1 }, soon());
      await floods(io);
      await fills(io);
      expect((await runInside(io, ['echo', 'well'])).stdout).toBe('well\n');
      const pid = monitorOf(id);
      const { exit } = io.exec({ exec_id: freshId(), argv: ['sleep', '600'], label: 'sleep', env: {} });
      process.kill(pid, 'SIGKILL');
      expect(await failure(exit)).toBe('unavailable');
      await io.closed;
      await until('it is seen', async () => (await provider.inspect({ id, epoch: 1 }, soon())) === 'stopped');
      expect(await failure(provider.attach({ id, epoch: 1 }, soon()))).toBe('unavailable');
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(machineRemains(place, id)).toEqual([]);
    },
    4 * MINUTE,
  );

  /** By the serial port, and by the kernel: both are kept in rings. */
  async function floods(io: SandboxIo): Promise<void> {
    const flood =
      'seq 1 20000 > /dev/ttyS0; i=0; while [ $i -lt 3000 ]; do echo $i > /dev/kmsg; i=$((i+1)); done';
    expect(await runInside(io, ['sh', '-c', flood])).toMatchObject({ exit_code: 0 });
    const lines: string[] = [];
    for await (const line of io.console({ lines: 100_000, follow: false })) lines.push(line);
    expect(lines.length).toBeGreaterThan(100);
    expect(Buffer.byteLength(lines.join('\n'))).toBeLessThan(2 * MEBIBYTE);
  }

  /** Of 64 MiB: told by the kernel, and room again once the file is gone. */
  async function fills(io: SandboxIo): Promise<void> {
    const full = await runInside(io, ['sh', '-c', 'dd if=/dev/zero of=/workspace/big bs=1M count=80']);
    expect(full.exit_code).not.toBe(0);
    expect(full.stderr).toContain('No space left');
    const body = Buffer.alloc(2 * MEBIBYTE);
    expect(await failure(io.files.write('/workspace/more', body, {}))).toBe('resource_limit');
    expect(await runInside(io, ['rm', '/workspace/big'])).toMatchObject({ exit_code: 0 });
    expect(await failure(io.files.write('/workspace/more', body, {}))).toBe(undefined);
  }

  it(
    'removes a stopped monitor that does not answer',
    async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), patient());
      process.kill(monitorOf(id), 'SIGSTOP');
      expect(await failure(provider.attach({ id, epoch: 1 }, soon()))).toBe('unavailable');
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(machineRemains(place, id)).toEqual([]);
    },
    3 * MINUTE,
  );

  it(
    'reports a truncated or invalid image as a provider error with its reason',
    async () => {
      const broken = join(place.home, 'broken.ext4');
      const refused = async (change: () => void) => {
        writeFileSync(broken, readFileSync(place.image));
        change();
        const id = freshId();
        const other = place.provider({ images: { broken } });
        const fault = await other.create(runtimeSpec(id), patient()).catch((error: unknown) => error);
        expect(machineRemains(place, id)).toEqual([]);
        return fault as ServiceError & { cause?: Error };
      };
      const cut = await refused(() => truncateSync(broken, 512));
      expect(cut).toMatchObject({
        code: 'provider_error',
        message: 'Could not start the virtual machine.',
      });
      expect(cut.cause?.message).toContain('image');
      const noise = await refused(() => writeFileSync(broken, Buffer.alloc(MEBIBYTE, 'x')));
      expect(noise.cause?.message).toContain('svc-agent: mount the image');
    },
    3 * MINUTE,
  );

  it('reports a monitor that is missing or cannot run in the probe and in create', async () => {
    const missing = place.provider({ monitor_path: '/nowhere/qemu' });
    const report = await missing.probe(soon());
    expect(report).toMatchObject({ healthy: false });
    expect(report.findings.find(({ name }) => name === 'monitor')?.message).toContain('qemu-system-x86');
    const id = freshId();
    expect(await failure(missing.create(runtimeSpec(id), soon()))).toBe('unavailable');
    expect(await failure(place.provider({ monitor_path: '/bin/true' }).create(runtimeSpec(id), soon()))).toBe(
      'unavailable',
    );
    expect(machineRemains(place, id)).toEqual([]);
  });

  it(
    'removes the unfinished runtime of a killed server, with its monitor',
    async () => {
      const id = freshId();
      const running = provider.create(runtimeSpec(id), patient());
      const record = join(place.runs, `${id}.1`, 'runtime.json');
      await running;
      const { pid, pid_start, ...draft } = JSON.parse(readFileSync(record, 'utf8'));
      expect([typeof pid, typeof pid_start]).toEqual(['number', 'number']);
      // As it is between the start of the monitor and its second writing.
      writeFileSync(record, JSON.stringify(draft));
      const next = place.provider();
      expect(await next.list(soon())).toMatchObject([{ id, state: 'stopped' }]);
      await next.destroy({ id, epoch: 1 }, soon());
      expect(await isAlive({ pid, start: pid_start })).toBe(false);
      expect(machineRemains(place, id)).toEqual([]);
    },
    3 * MINUTE,
  );
});
