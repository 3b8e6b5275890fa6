// A provider that only looked (svc doctor's, beside a service that has no sandbox just now) takes no folder from under it.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { realHost } from '../../../src/host/real-host.ts';
import { instanceFolders } from '../../../src/providers/local/instance-folders.ts';
import { microvmFolders } from '../../../src/providers/microvm/folders.ts';
import { openState } from '../../../src/providers/microvm/state.ts';
import type { MicrovmConfig } from '../../../src/schema/config-microvm.ts';
import { silentLogger } from '../../support/fakes/ports.ts';
import { type UserspaceHome, userspaceHome } from '../../support/hosts/userspace.ts';
import { temporaryFolder } from '../../support/temporary.ts';

let home: UserspaceHome;
beforeEach(() => {
  home = userspaceHome();
});
afterEach(() => home.remove());

it('userspace keeps the folders of another server', async () => {
  const { instance } = instanceFolders(process.getuid?.() ?? 0, home.instance.id, home.home);
  mkdirSync(instance, { recursive: true, mode: 0o711 });
  const provider = home.provider();
  await provider.list(AbortSignal.timeout(60_000));
  await provider.close();
  expect(existsSync(instance)).toBe(true);
});

it('microvm keeps the folders of another server, and removes its own', async () => {
  const deps = {
    host: realHost('/usr/bin:/bin'),
    clock: realClock(),
    random: realRandom(),
    logger: silentLogger,
    config: {
      data_dir: temporaryFolder(),
      images: {},
      overlay_mb: 0,
    } as Partial<MicrovmConfig> as MicrovmConfig,
    instance: home.instance,
    imageStore: { path: join(home.home, 'store') },
    packageRoot: packageRoot(),
    runtimeDir: home.home,
  };
  const places = microvmFolders(deps);
  const folders = [places.instance, places.overlays, places.snapshots];
  const service = openState(deps);
  try {
    await service.prepare();
    await openState(deps).leave();
    expect(folders.filter(existsSync)).toEqual(folders);
    await service.leave();
    expect(folders.filter(existsSync)).toEqual([]);
  } finally {
    rmSync(join(places.root, places.short), { recursive: true, force: true });
  }
});
