// The image store when its writers are killed at any moment, its disk is full or read-only, and images are removed while
// sandboxes start on them.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { seeded } from '../../bench/seeded.ts';
import { countFault, countFaults } from '../../proof/faulted.ts';
import { realRegistry } from '../support/hosts/docker-registry.ts';
import { fill } from '../support/hosts/fill-disk.ts';
import { dockerFiles, ociFiles, tarOf } from '../support/hosts/image-archives.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, makeHome, removeHome, startServer } from '../support/servers/server.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

countFaults('image store broken');

const SEED = Number(process.env.SVC_TEST_SEED ?? 20_261);
const KILLS = Number(process.env.SVC_TEST_IMAGE_KILLS ?? 6);
const SPAWNS = Number(process.env.SVC_TEST_IMAGE_SPAWNS ?? 12);
const LEVELS = ['tmp', 'layers', 'trees', 'images', 'names', 'blobs'];

const filled = (size: number, by: number) =>
  Buffer.from(Array.from({ length: size }, (_, at) => (at * at * by) >> 9));
const layer = (n: number) =>
  tarArchive(
    ...Array.from(
      { length: 200 },
      (_, at): TarPart => ({ name: `l${n}/${at}`, content: filled(2000 + at, n + 3) }),
    ),
    { name: `l${n}/large`, content: filled(400_000, n + 5) },
  );
const LAYERS = [0, 1, 2].map(layer);

const left = (store: string) =>
  LEVELS.flatMap((level) =>
    existsSync(join(store, level)) ? readdirSync(join(store, level)).map((name) => `${level}/${name}`) : [],
  );

/** Processes that `pid` started. */
function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const ended = (child: ChildProcess) =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise<void>((resolve) => child.once('exit', () => resolve()));

/** Starts a command, and kills it, or only the program that unpacks for it, after `ms`. */
async function killed(args: readonly string[], env: Record<string, string>, ms: number, isUnpacker: boolean) {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: 'ignore',
  });
  const pause = new Promise((resolve) => setTimeout(resolve, ms));
  await Promise.race([pause, ended(child)]);
  const victims = isUnpacker ? childrenOf(child.pid as number) : [child.pid as number];
  for (const pid of victims) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
  await ended(child);
}

describeWith(['docker-registry', 'openssl'], 'the image store', () => {
  const world = () => {
    const folder = temporaryFolder();
    const store = join(folder, 'store');
    const env: Record<string, string> = {
      HOME: folder,
      SVC_IMAGES_PATH: store,
      SVC_IMAGES_KEEP_FREE_BYTES: '0',
    };
    return {
      folder,
      store,
      env,
      svc: (args: string[], input?: Buffer) => runCli(['image', ...args], env, input),
    };
  };

  it.each(['pull', 'import'] as const)(
    `has an image completely or not at all after kills of ${KILLS} of %s, and gets rid of remains`,
    async (kind) => {
      const { folder, store, env, svc } = world();
      const registry = await realRegistry('basic');
      env.NODE_EXTRA_CA_CERTS = registry.caFile;
      env.SVC_IMAGES_REGISTRIES = registry.host;
      env.SVC_IMAGES_DOCKER_CONFIG = registry.dockerConfig;
      await registry.put('team/tool', { files: ociFiles({ layers: LAYERS }) }, '1');
      const saved = join(folder, 'saved.tar');
      writeFileSync(saved, tarOf(dockerFiles({ layers: LAYERS, name: 'team/tool:1' })));
      const args =
        kind === 'pull' ? ['image', 'pull', `${registry.host}/team/tool:1`] : ['image', 'import', saved];
      const began = performance.now();
      expect(await runCli(args, env)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('rror') });
      const usual = performance.now() - began;
      expect(await svc(['prune', '--all'])).toMatchObject({ code: 0 });
      expect(left(store)).toEqual([]);
      const next = seeded(SEED);
      for (let round = 0; round < KILLS; round++) {
        const [ms, isUnpacker] = [next() * usual, next() < 0.4];
        await killed(args, env, ms, isUnpacker);
        const verified = await svc(['verify', '--json']);
        const isWhole = verified.code === 0 && verified.stderr === '';
        countFault(`${kind} of an image killed`, isWhole);
        expect([round, ms, isUnpacker, verified]).toMatchObject([
          round,
          ms,
          isUnpacker,
          { code: 0, stderr: '' },
        ]);
        if (next() < 0.5) await svc(['prune', '--all']);
      }
      expect(await runCli(args, env)).toMatchObject({ code: 0 });
      const report = JSON.parse((await svc(['verify', '--json'])).stdout) as {
        images: { checked: number }[];
      };
      expect(report.images.map(({ checked }) => checked > 600)).toEqual([true]);
      expect(await svc(['prune', '--all'])).toMatchObject({ code: 0 });
      expect(left(store)).toEqual([]);
    },
    300_000 + KILLS * 20_000,
  );

  it('keeps two commands that import the same image out of each other’s way', async () => {
    const { folder, store, svc } = world();
    const saved = join(folder, 'saved.tar');
    writeFileSync(saved, tarOf(dockerFiles({ layers: LAYERS, name: 'team/tool:1' })));
    const runs = await Promise.all([svc(['import', saved]), svc(['import', saved]), svc(['prune'])]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(await svc(['verify'])).toMatchObject({ code: 0 });
    expect(left(store).filter((name) => name.startsWith('layers/'))).toHaveLength(3);
    expect(left(store).filter((name) => name.startsWith('tmp/'))).toEqual([]);
  });
});

describeWith(['root'], 'the image store on its own disk', () => {
  const mounted = (options: string) => {
    const folder = temporaryFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
    onTestFinished(() => void execFileSync('umount', ['-l', folder]));
    const store = join(folder, 'store');
    const env: Record<string, string> = {
      HOME: folder,
      SVC_IMAGES_PATH: store,
      SVC_IMAGES_KEEP_FREE_BYTES: '0',
    };
    return { folder, store, svc: (args: string[], input?: Buffer) => runCli(['image', ...args], env, input) };
  };
  const saved = () => tarOf(dockerFiles({ layers: LAYERS, name: 'team/tool:1' }));

  it('refuses an image that does not fit, leaves nothing of it, and keeps what it has', async () => {
    const { folder, store, svc } = mounted('size=5m');
    const [small] = [
      tarOf(dockerFiles({ layers: [tarArchive({ name: 'a', content: 'a' })], name: 'small:1' })),
    ];
    expect(await svc(['import', '-'], small)).toMatchObject({ code: 0 });
    const before = left(store);
    const file = join(temporaryFolder(), 'saved.tar');
    writeFileSync(file, saved());
    fill(join(folder, 'filled'));
    expect(await svc(['import', file])).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringContaining('does not have enough free space'),
    });
    execFileSync('rm', [join(folder, 'filled')]);
    writeFileSync(join(folder, 'half'), Buffer.alloc(4 * 1024 * 1024));
    for (const source of [file, '-'])
      expect(await svc(['import', source], saved())).toMatchObject({
        code: 7,
        stderr: expect.stringContaining('does not have enough free space'),
      });
    expect(left(store)).toEqual(before);
    expect(await svc(['verify'])).toMatchObject({ code: 0 });
    execFileSync('rm', [join(folder, 'half')]);
    expect(await svc(['import', file])).toMatchObject({ code: 0 });
  });

  it('reads a store that is read-only, and says that it cannot be changed', async () => {
    const { folder, svc } = mounted('size=20m');
    expect(await svc(['import', '-'], saved())).toMatchObject({ code: 0 });
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    expect(await svc(['list'])).toMatchObject({ code: 0, stdout: expect.stringContaining('team/tool:1') });
    expect(await svc(['inspect', 'team/tool:1'])).toMatchObject({ code: 0, stderr: '' });
    for (const args of [
      ['import', '-'],
      ['remove', 'team/tool:1'],
      ['prune', '--all'],
      ['tag', 'team/tool:1', 'b'],
    ]) {
      const run = await svc(args, saved());
      expect([args, run]).toMatchObject([args, { stdout: '', stderr: expect.stringContaining('read-only') }]);
    }
  });
});

describeWith(['root', 'busybox', 'unshare'], 'sandboxes on images that come and go', () => {
  it('start on a store that is read-only', async () => {
    const folder = temporaryFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=20m,mode=755', 'tmpfs', folder]);
    onTestFinished(() => void execFileSync('umount', ['-l', folder]));
    const home = makeHome(false);
    const more = {
      SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
      SVC_IMAGES_PATH: join(folder, 'store'),
      SVC_IMAGES_KEEP_FREE_BYTES: '0',
    };
    const saved = tarOf(
      dockerFiles({
        name: 'team/tool:1',
        layers: [
          tarArchive(
            { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
            { name: 'bin/cat', type: '2', link: 'busybox' },
            { name: 'data', content: 'data' },
          ),
        ],
      }),
    );
    expect(await runCli(['image', 'import', '-'], { HOME: folder, ...more }, saved)).toMatchObject({
      code: 0,
    });
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    const server = await startServer({ home, env: more });
    onTestFinished(async () => {
      await server.stop();
      removeHome(home);
    });
    const run = ['sandbox', 'run', '--image', 'team/tool:1', '--', 'cat', '/data'];
    expect(await runCli(run, { ...server.env, ...more, SVC_SERVER: server.url })).toEqual({
      code: 0,
      stdout: 'data',
      stderr: '',
    });
  });

  it('see all files of their image, or do not start', async () => {
    const home = makeHome(false);
    const more = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_IMAGES_PULL: 'never' };
    const server = await startServer({ home, env: more });
    onTestFinished(async () => {
      await server.stop();
      removeHome(home);
    });
    const env = { ...server.env, SVC_SERVER: server.url };
    const svc = (args: string[], input?: Buffer) => runCli(args, env, input);
    const files = Array.from({ length: 50 }, (_, n): TarPart => ({ name: `data/${n}`, content: `${n}\n` }));
    const saved = tarOf(
      dockerFiles({
        name: 'team/tool:1',
        layers: [
          tarArchive(
            { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
            ...['sh', 'cat'].map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
          ),
          tarArchive(...files),
        ],
      }),
    );
    expect(await svc(['image', 'import', '-'], saved)).toMatchObject({ code: 0 });
    let isOver = false;
    const changes = (async () => {
      const kinds = [
        ['remove', 'team/tool:1'],
        ['prune', '--all'],
        ['prune', '--all'],
        ['remove', 'team/tool:1'],
      ];
      for (let n = 0; !isOver; n++) {
        await svc(['image', ...(kinds[n % kinds.length] as string[])]);
        await svc(['image', 'import', '-'], saved);
      }
    })();
    let complete = 0;
    for (let n = 0; n < SPAWNS; n++) {
      const run = await svc([
        'sandbox',
        'run',
        '--strict',
        '--image',
        'team/tool:1',
        '--',
        'sh',
        '-c',
        'cat /data/*',
      ]);
      if (run.code !== 0) {
        expect([run.code, run.stdout, run.stderr]).toEqual([
          expect.any(Number),
          '',
          expect.stringMatching(/image/i),
        ]);
        continue;
      }
      expect(run.stdout.split('\n')).toHaveLength(51);
      complete++;
    }
    isOver = true;
    await changes;
    expect(complete).toBeGreaterThan(0);
    expect(await svc(['image', 'prune', '--all'])).toMatchObject({ code: 0 });
    expect(left(join(home, 'images'))).toEqual([]);
  });

  it('keep their image when another server of the same store removes it', async () => {
    const store = join(temporaryFolder(), 'store');
    mkdirSync(store);
    const servers = await Promise.all(
      [0, 1].map(async () => {
        const home = makeHome(false);
        const more = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_IMAGES_PATH: store };
        const server = await startServer({ home, env: more });
        onTestFinished(async () => {
          await server.stop();
          removeHome(home);
        });
        const env = { ...server.env, ...more, SVC_SERVER: server.url };
        return (args: string[], input?: Buffer) => runCli(args, env, input);
      }),
    );
    const [one, other] = servers as [(typeof servers)[0], (typeof servers)[0]];
    const saved = tarOf(
      dockerFiles({
        name: 'team/tool:1',
        layers: [
          tarArchive(
            { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
            { name: 'bin/cat', type: '2', link: 'busybox' },
            { name: 'data', content: 'data' },
          ),
        ],
      }),
    );
    expect(await one(['image', 'import', '-'], saved)).toMatchObject({ code: 0 });
    const { id } = JSON.parse((await one(['sandbox', 'create', '--image', 'team/tool:1', '--json'])).stdout);
    const run = ['sandbox', 'run', '--image', 'team/tool:1', '--', 'cat', '/data'];
    expect(await other(run)).toMatchObject({ code: 0, stdout: 'data' });
    expect(await other(['image', 'remove', 'team/tool:1'])).toMatchObject({ code: 5 });
    expect(await other(['image', 'prune', '--all'])).toMatchObject({ stdout: 'Removed no images: 0 B.\n' });
    expect(await one(['sandbox', 'exec', id, '--', 'cat', '/data'])).toMatchObject({
      code: 0,
      stdout: 'data',
    });
    expect(await one(['sandbox', 'destroy', id])).toMatchObject({ code: 0 });
    expect(await other(['image', 'remove', 'team/tool:1'])).toMatchObject({ code: 0 });
    expect(left(store)).toEqual([]);
  });
});
