// Runtimes of Firecracker, played by a script that is as strict as its API, with a real agent as the guest: no machine
// that runs it was at hand.
import { expect, it } from 'vitest';
import type { RuntimeEvent } from '../../src/providers/provider.ts';
import { freshId, runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { scriptedFirecracker } from '../support/scripted/firecracker.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

describeWith(['root', 'mke2fs'], 'runtimes of Firecracker', () => {
  it('start, answer on their vsock, outlive the server and end', async () => {
    const { provider, heard, remains } = await scriptedFirecracker();
    const first = provider();
    const id = freshId();
    const ref = { id, epoch: 1 };
    const made = await first.create(runtimeSpec(id, { memory_mb: 256, vcpus: 1 }), soon());
    expect(made).toEqual({ runtime_id: `${id}.1`, image: 'busybox', memory_mb: 256, vcpus: 1, warnings: [] });
    const io = await first.attach(ref, soon());
    expect(await runInside(io, ['echo', 'well'])).toMatchObject({ stdout: 'well\n' });
    const second = provider();
    expect(await second.list(soon())).toMatchObject([{ id, epoch: 1, state: 'running' }]);
    expect((await runInside(await second.attach(ref, soon()), ['echo', 'still'])).stdout).toBe('still\n');
    await io.closed;
    const lines = heard();
    const bodies = Object.fromEntries(lines.map((line) => [line.split(' ')[1], line]));
    expect(bodies['/machine-config']).toContain('{"vcpu_count":1,"mem_size_mib":256,"smt":false}');
    expect(bodies['/boot-source']).toMatch(/"boot_args":"console=ttyS0 .* reboot=k pci=off"/);
    expect(bodies['/drives/image']).toContain('"is_root_device":false,"is_read_only":true}');
    expect(bodies['/drives/settings']).toContain('"is_read_only":true}');
    expect(bodies['/drives/overlay']).toContain('"is_read_only":false}');
    expect(bodies['/entropy']).toBe('PUT /entropy {}');
    // The settings are there for the boot alone: whoever connects later finds them emptied, also by the open descriptor.
    expect(lines.filter((line) => line.startsWith('settings')).at(0)).toBe('settings false');
    expect(lines.at(-1)).toBe('settings true');
    await second.destroy(ref, soon());
    await until('nothing is left', () => remains(id).length === 0);
    expect(await second.inspect(ref, soon())).toBe('gone');
    expect(second.snapshots).toBeUndefined();
  });

  it('that fail leave nothing, and their error hides the words of the monitor', async () => {
    const { provider, mood, remains } = await scriptedFirecracker();
    const one = provider();
    const failing = { refuses: 'provider_error', dies: 'provider_error', resets: 'provider_error' };
    const hostile = { garbled: 'provider_error', huge: 'provider_error' };
    for (const [words, code] of Object.entries({ ...failing, ...hostile })) {
      mood(words);
      const id = freshId();
      const failure = await one.create(runtimeSpec(id), soon()).catch((error: unknown) => error);
      expect(failure, words).toMatchObject({ code });
      expect(String(failure), words).not.toMatch(/secret words|hurts/);
      expect(remains(id), words).toEqual([]);
    }
  });

  it('that never answer end when the caller gives up', async () => {
    const { provider, mood, heard, remains } = await scriptedFirecracker();
    const one = provider();
    for (const [words, sign] of Object.entries({
      silent: 'GET /',
      deaf: 'InstanceStart',
      chatters: 'InstanceStart',
    })) {
      mood(words);
      const id = freshId();
      const before = heard().length;
      const patience = new AbortController();
      const failure = one.create(runtimeSpec(id), patience.signal).catch((error: unknown) => error);
      await until(words, () =>
        heard()
          .slice(before)
          .some((line) => line.includes(sign)),
      );
      patience.abort(new Error('enough'));
      expect(await failure, words).toMatchObject({ message: 'enough' });
      await until('nothing is left', () => remains(id).length === 0);
    }
  });

  it('whose monitor is killed are reported as ended, and removed', async () => {
    const { provider, pid, remains } = await scriptedFirecracker();
    const one = provider();
    const id = freshId();
    const heard: RuntimeEvent[] = [];
    const stop = new AbortController();
    const watching = one.watch?.((event) => heard.push(event), stop.signal);
    await one.create(runtimeSpec(id), soon());
    const io = await one.attach({ id, epoch: 1 }, soon());
    process.kill(pid(id), 'SIGKILL');
    await io.closed;
    await until('it is told', () => heard.some(({ what }) => what === 'ended'));
    stop.abort();
    await watching;
    await expect(one.attach({ id, epoch: 1 }, soon())).rejects.toMatchObject({ code: 'unavailable' });
    await one.destroy({ id, epoch: 1 }, soon());
    await until('nothing is left', () => remains(id).length === 0);
  });

  it('are refused with the reason where they cannot run', async () => {
    const { provider, mood, remains } = await scriptedFirecracker();
    const refused = async (words: string, ...about: Parameters<typeof provider>) => {
      const one = provider(...about);
      const report = await one.probe(soon());
      expect(report).toMatchObject({ healthy: false, message: expect.stringContaining(words) });
      const id = freshId();
      const work = one.create(runtimeSpec(id), soon());
      await expect(work).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(words),
      });
      expect(remains(id)).toEqual([]);
    };
    await refused('keep root privileges', {}, { uid: 0 });
    await refused('cannot have a network', { network: 'user' });
    await refused('cannot emulate', { accelerator: 'emulation' });
    await refused('KVM cannot boot a guest', {}, { hasKvm: false });
    await refused('Firecracker is not installed', { monitor_path: '/nowhere/firecracker' });
    mood('no kvm');
    await refused('KVM cannot boot a guest');
    mood('old');
    await refused('is too old');
    mood('well');
    expect(
      await provider({
        data_dir: temporaryFolder(),
      }).probe(soon()),
    ).toMatchObject({ healthy: true });
  });
});
