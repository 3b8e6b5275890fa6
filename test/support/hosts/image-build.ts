// Building an image in a folder of a test, and looking into what came out, by debugfs.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '../../../src/host/clock.ts';
import type { Host } from '../../../src/host/host.ts';
import { realHost } from '../../../src/host/real-host.ts';
import { buildImage } from '../../../src/ops/image/build.ts';
import type { BuildDeps, ImageBuild } from '../../../src/ops/image/stage.ts';
import { findImage } from '../../../src/providers/microvm/images.ts';
import { temporaryFolder } from '../temporary.ts';

export interface Bench {
  folder: string;
  build(change: Partial<ImageBuild>): ReturnType<typeof buildImage>;
  buildTar(archive: Buffer, change?: Partial<ImageBuild>): ReturnType<typeof buildImage>;
  /** What debugfs answers about the image `test`. */
  ask(command: string): Promise<string>;
  /** All that is in the folder of images. */
  left(): string[];
}

export function imageBench(change: Partial<BuildDeps & { host: Host }> = {}): Bench {
  const folder = temporaryFolder();
  const dataFolder = join(folder, 'data');
  const deps: BuildDeps = {
    host: realHost(),
    clock: realClock(),
    dataFolder,
    exportOf: () => Promise.reject(new Error('no engine here')),
    ...change,
  };
  const build: Bench['build'] = (more) =>
    buildImage(
      {
        name: 'test',
        source: { kind: 'tar', path: join(folder, 'tar') },
        signal: new AbortController().signal,
        ...more,
      },
      deps,
    );
  return {
    folder,
    build,
    buildTar: (archive, more = {}) => {
      writeFileSync(join(folder, 'tar'), archive);
      return build(more);
    },
    ask: async (command) => {
      const image = await findImage({ dataFolder, configured: {} }, 'test');
      return execFileSync('/usr/sbin/debugfs', ['-R', command, image?.path ?? ''], {
        encoding: 'latin1',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    },
    left: () =>
      statSync(join(dataFolder, 'images'), { throwIfNoEntry: false })
        ? readdirSync(join(dataFolder, 'images'))
        : [],
  };
}
