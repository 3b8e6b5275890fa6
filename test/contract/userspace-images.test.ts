// Userspace sandboxes on images of the store, by every runner: what they see and may change, and how long an image stays.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { findStored, pruneStored, removeStored, type StoreDeps } from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import type { Created, Provider, RuntimeSpec } from '../../src/providers/provider.ts';
import { dockerFiles, type ImageParts, tarOf } from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';

const BUSYBOX = readFileSync('/bin/busybox');
const applets = ['sh', 'cat', 'ls', 'id', 'echo', 'touch', 'rm', 'stat', 'hostname', 'env', 'sleep'];
const BASE: TarPart[] = [
  { name: 'bin/busybox', content: BUSYBOX, mode: 0o755 },
  ...applets.map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
  { name: 'etc/passwd', content: 'root:x:0:0::/root:/bin/sh\napp:x:77:77::/:/bin/sh' },
  { name: 'etc/group', content: 'root:x:0:\n' },
  { name: 'etc/ssl/certs/ca-certificates.crt', content: 'ROOTS OF THE IMAGE\n' },
  { name: 'etc/ssl/cert.pem', type: '2', link: 'certs/ca-certificates.crt' },
  { name: 'opt/private', content: 'secret', mode: 0o600, uid: 5 },
  { name: 'opt/lib/data', content: 'data' },
];
const CONFIG = { Env: ['PATH=/opt/bin:/bin', 'GREETING=a=b', 'HOME=/elsewhere', 'LANG=C'] };

function storeDeps(root: string): StoreDeps {
  const limits = { maxBytes: 64 * 1024 * 1024, maxEntries: 10_000 };
  return { ...{ agent: AGENT, root, limits }, clock: realClock(), random: realRandom(), host: realHost() };
}

/** Imports an image of busybox, as `docker save` writes it. */
async function importBusybox(store: StoreDeps, parts: Partial<ImageParts> & { more?: TarPart[] } = {}) {
  const { more = [], ...image } = parts;
  const archive = `${store.root}-${freshId()}.tar`;
  const layers = [tarArchive(...BASE, ...more)];
  mkdirSync(store.root, { recursive: true });
  writeFileSync(archive, tarOf(dockerFiles({ layers, name: 'team/tool:1', config: CONFIG, ...image })));
  return importImages(store, { source: archive, signal: soon() });
}

const usesOf = (root: string) =>
  readdirSync(join(root, 'trees')).flatMap((chain) => readdirSync(join(root, 'trees', chain, 'uses')));

describeWith(['root', 'busybox', 'unshare'], 'the user of commands on an image', () => {
  let place: UserspaceHome;
  let store: StoreDeps;

  beforeAll(async () => {
    place = userspaceHome();
    store = storeDeps(join(place.home, 'images'));
    const more = [
      ...['chown', 'chmod', 'su', 'grep'].map((name) => ({
        name: `bin/${name}`,
        type: '2',
        link: 'busybox',
      })),
      { name: 'etc/apt/apt.conf', content: '' },
      { name: 'root/', type: '5', mode: 0o700 },
    ];
    const named = (user: string, name: string) =>
      importBusybox(store, { more, name, config: { ...CONFIG, User: user } });
    await named('app:app', 'team/app:1');
    await named('', 'team/plain:1');
    await named('4321', 'team/number:1');
    await named('nobody-knows', 'team/unknown:1');
  });
  afterAll(() => place.remove());

  const inside = async (
    user: 'sandbox' | 'image' | 'root',
    image: string,
    text: string,
    { strict = false, ...change }: { strict?: boolean; runner?: 'bwrap' } = {},
  ) => {
    const provider = place.provider({ user, ...change });
    const id = freshId();
    try {
      const { warnings } = await provider.create(runtimeSpec(id, { image, strict }), soon());
      const io = await provider.attach({ id, epoch: 1 }, soon());
      const { stdout, stderr } = await runInside(io, ['sh', '-c', `{ ${text}; } 2>&1`]);
      io.close();
      return { out: stdout + stderr, warnings };
    } finally {
      await provider.destroy({ id, epoch: 1 }, soon());
      await provider.close();
    }
  };

  it.each([
    ['sandbox', 'team/app:1', '1000 sandbox sandbox /workspace\n'],
    ['image', 'team/app:1', '77 app app /workspace\n'],
    ['image', 'team/plain:1', '0 root root /root\n'],
    ['image', 'team/number:1', '4321 sandbox sandbox /workspace\n'],
    ['root', 'team/app:1', '0 root root /root\n'],
  ] as const)('is, with user %s and %s: %s', async (user, image, expected) => {
    const { out, warnings } = await inside(user, image, 'echo "$(id -u) $(id -un) $USER $HOME"');
    expect(out).toBe(expected);
    expect(warnings).toEqual(expected.startsWith('0') ? [expect.stringContaining('change nothing')] : []);
  });

  it('ignores changes of owners as root of an image, and has no right', async () => {
    const { out } = await inside(
      'root',
      'team/plain:1',
      'touch /f; chown 5:6 /f && stat -c %u:%g /f; grep Cap /proc/self/status; cat /etc/apt/apt.conf.d/99svc',
    );
    expect(out).toMatch(/^0:0\n/);
    expect(out.match(/Cap\w+:\t0+\n/g)).toHaveLength(5);
    expect(out).toContain('APT::Sandbox::User "root";');
    const { out: refused } = await inside('sandbox', 'team/plain:1', 'touch /f; chown 5:6 /f');
    expect(refused).toMatch(/not permitted|Invalid argument/);
  });

  it('filters no call of the agent, and none of other users', async () => {
    const filters = 'grep Seccomp_filters /proc/self/status /proc/1/status';
    const count = (out: string) => [...out.matchAll(/Seccomp_filters:\t(\d+)/g)].map(([, n]) => Number(n));
    const [own = 0, agent = 0] = count((await inside('root', 'team/plain:1', filters)).out);
    expect(own).toBe(agent + 1);
    const [plain = 0, same = 0] = count((await inside('sandbox', 'team/plain:1', filters)).out);
    expect([plain, same]).toEqual([agent, agent]);
  });

  it('stays sandbox with a warning under bubblewrap, and hosts no pool', async () => {
    const { out, warnings } = await inside('root', 'team/plain:1', 'id -u', { runner: 'bwrap' });
    expect(out).toBe('1000\n');
    expect(warnings).toEqual(
      expect.arrayContaining([expect.stringContaining('Commands run as user sandbox')]),
    );
    for (const [user, hosts] of [
      ['sandbox', true],
      ['image', false],
      ['root', false],
    ] as const) {
      const provider = place.provider({ user });
      expect(provider.hostsPools).toBe(hosts);
      expect(provider.describe().isolation.user).toContain(
        user === 'root' ? 'uid 0 inside images' : 'own_uid',
      );
      await provider.close();
    }
  });

  it('is as configured for a strict spawn, which is refused where it cannot be', async () => {
    const { out, warnings } = await inside('root', 'team/plain:1', 'id -u', { strict: true });
    expect([out, warnings]).toEqual(['0\n', []]);
    await expect(
      inside('root', 'team/plain:1', 'id', { strict: true, runner: 'bwrap' }),
    ).rejects.toMatchObject({ code: 'precondition_failed' });
  });

  it('fails for a user that the image does not have', async () => {
    await expect(inside('image', 'team/unknown:1', 'id')).rejects.toMatchObject({
      code: 'provider_error',
      message: expect.stringContaining('nobody-knows'),
    });
  });
});

for (const runner of ['unshare', 'bwrap', 'proot', 'auto'] as const) {
  describeWith(
    ['root', 'busybox', 'unshare', ...(runner === 'auto' ? [] : [runner])],
    `images and ${runner}`,
    () => {
      let place: UserspaceHome;
      let provider: Provider;
      let store: StoreDeps;
      const isWritable = runner === 'unshare' || runner === 'auto';

      beforeAll(async () => {
        place = userspaceHome();
        store = storeDeps(join(place.home, 'images'));
        await importBusybox(store);
        provider = place.provider({ runner });
      });
      afterAll(async () => {
        await provider.close();
        place.remove();
      });
      const within = async (
        change: Partial<RuntimeSpec>,
        use: (run: (text: string) => Promise<string>, created: Created) => Promise<void>,
      ) => {
        const id = freshId();
        const created = await provider.create(runtimeSpec(id, { image: 'team/tool:1', ...change }), soon());
        const io = await provider.attach({ id, epoch: 1 }, soon());
        try {
          const run = async (text: string) => {
            const { stdout, stderr } = await runInside(io, ['sh', '-c', `{ ${text}; } 2>&1`]);
            return stdout + stderr;
          };
          await use(run, created);
        } finally {
          io.close();
          await provider.destroy({ id, epoch: 1 }, soon());
        }
      };

      it('run on it, with its environment', async () => {
        await within({}, async (run, { image, warnings }) => {
          expect(image).toBe('team/tool:1');
          const readOnly =
            runner === 'bwrap' ? ['The image is read-only: bubblewrap does not support an overlay.'] : [];
          const traced = runner === 'proot' ? [expect.stringContaining('proot does not isolate')] : [];
          expect(warnings).toEqual([...traced, ...readOnly]);
          expect(await run('cat /opt/lib/data; echo; ls -d /usr /lib')).toMatch(/^data\n.*No such file/);
          expect(await run('echo "$PATH|$GREETING|$HOME|$LANG|$USER"')).toBe(
            '/opt/bin:/bin|a=b|/workspace|C|sandbox\n',
          );
          expect(await run('pwd; echo x > file; cat file')).toBe('/workspace\nx\n');
          // The sandbox owns what its image holds.
          expect(await run('cat /opt/private')).toBe('secret');
        });
      });

      if (runner !== 'proot')
        it('trust an authority beside those of the image, and cannot change that', async () => {
          await within({ trust: 'OURS\n' }, async (run) => {
            expect(await run('cat /.svc-trust/ca.pem')).toBe('OURS\n');
            expect(await run('cat /.svc-trust/roots.pem')).toBe('ROOTS OF THE IMAGE\nOURS\n');
            expect(await run('cat /etc/ssl/certs/ca-certificates.crt')).toBe('ROOTS OF THE IMAGE\nOURS\n');
            expect(await run('cat /etc/ssl/cert.pem')).toBe('ROOTS OF THE IMAGE\nOURS\n');
            expect(await run('echo x > /.svc-trust/ca.pem')).toContain('Read-only');
          });
          await within({}, async (run) => {
            expect(await run('cat /etc/ssl/certs/ca-certificates.crt')).toBe('ROOTS OF THE IMAGE\n');
          });
        });

      it(isWritable ? 'change a private copy' : 'cannot change it', async () => {
        const tree = (await findStored(store.root, 'team/tool:1', 0))?.tree as string;
        const before = statSync(join(tree, 'opt/lib/data')).mtimeMs;
        await within({}, async (run) => {
          const changed = await run(
            'echo new > /opt/lib/data && rm /opt/private && touch /bin/fresh; cat /opt/lib/data',
          );
          if (isWritable) expect(changed).toBe('new\n');
          else expect(changed).toMatch(/(Read-only file system|Permission denied)\ndata$/);
          if (isWritable)
            expect(await run('id -u; id -un; hostname; cat /etc/hostname; cat /etc/hosts')).toMatch(
              /^1000\nsandbox\n(\S+)\n\1\n127\.0\.0\.1 localhost\n/,
            );
        });
        expect(readFileSync(join(tree, 'opt/lib/data'), 'utf8')).toBe('data');
        expect(readFileSync(join(tree, 'etc/passwd'), 'utf8')).not.toContain('sandbox');
        expect(statSync(join(tree, 'opt/lib/data')).mtimeMs).toBe(before);
        expect(existsSync(join(tree, 'bin/fresh'))).toBe(false);
        await within({}, async (run) => expect(await run('cat /opt/lib/data')).toBe('data'));
      });

      it('keep it until they end', async () => {
        await within({}, async () => {
          expect(usesOf(store.root)).toHaveLength(1);
          await expect(removeStored(store, 'team/tool:1')).rejects.toMatchObject({ code: 'conflict' });
          expect(await pruneStored(store, { unusedForMs: 0, dryRun: false })).toMatchObject({ names: [] });
        });
        expect(usesOf(store.root)).toEqual([]);
      });
    },
  );
}

describeWith(['root', 'busybox', 'unshare'], 'images of the store', () => {
  let place: UserspaceHome;
  let provider: Provider;
  let store: StoreDeps;
  beforeAll(async () => {
    place = userspaceHome();
    store = storeDeps(join(place.home, 'images'));
    provider = place.provider({ runner: 'unshare' });
  });
  afterAll(async () => {
    await provider.close();
    place.remove();
  });
  const runOn = async (image: string, text: string) => {
    const id = freshId();
    const { warnings } = await provider.create(runtimeSpec(id, { image }), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    const { stdout, stderr } = await runInside(io, ['sh', '-c', `{ ${text}; } 2>&1`]);
    io.close();
    await provider.destroy({ id, epoch: 1 }, soon());
    return { out: stdout + stderr, warnings };
  };

  it('are found by every form of their name, and never used by a spawn that names none', async () => {
    await importBusybox(store, { name: 'alpine' });
    for (const image of ['alpine', 'alpine:latest', 'docker.io/library/alpine'])
      expect((await runOn(image, 'cat /opt/lib/data')).out).toBe('data');
    const id = freshId();
    expect(await provider.create(runtimeSpec(id), soon())).toMatchObject({ image: 'host', warnings: [] });
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await provider.presentImages?.(soon())).toEqual(['host', 'alpine:latest']);
    expect(provider.describe().images).toEqual(['host']);
    expect((await runOn('nobody/has:it', 'true')).warnings).toEqual([
      'Image nobody/has:it is not on this machine: the sandbox runs on host.',
    ]);
  });

  it('do not start for another processor', async () => {
    await importBusybox(store, { name: 'foreign:1', architecture: 'riscv64' });
    const spec = runtimeSpec(freshId(), { image: 'foreign:1' });
    await expect(provider.create(spec, soon())).rejects.toMatchObject({
      code: 'not_found',
      message: 'Image foreign:1 is for linux/riscv64, which this machine cannot run.',
    });
  });

  it('cannot show files of the host by links in /etc', async () => {
    const links = [
      { name: 'etc/passwd', type: '2', link: '/etc/shadow' },
      { name: 'etc/group', type: '2', link: '/old/etc/shadow' },
      { name: 'etc/hostname', type: '2', link: '/old/etc/hostname' },
      { name: 'workspace', type: '2', link: '/old/root' },
    ];
    await importBusybox(store, { name: 'linked:1', layers: [tarArchive(...BASE.slice(0, 12), ...links)] });
    const { out } = await runOn(
      'linked:1',
      'cat /etc/passwd /etc/group; stat -c %F /etc/hostname /workspace; ls /old',
    );
    expect(out).toMatch(
      /cat: can't open '\/etc\/passwd'.*\ncat: can't open.*\nregular file\ndirectory\nls: \/old/,
    );
  });

  it("have the host's resolver with the host's network, and no other", async () => {
    const own = [{ name: 'etc/resolv.conf', content: '' }];
    await importBusybox(store, { name: 'resolving:1', more: own });
    await importBusybox(store, { name: 'without:1' });
    // The sandbox's own uid has to reach them.
    chmodSync(place.home, 0o711);
    const folder = (name: string) => {
      const root = join(place.home, 'folders', name);
      mkdirSync(join(root, 'bin'), { recursive: true });
      writeFileSync(join(root, 'bin/cat'), BUSYBOX, { mode: 0o755 });
      return root;
    };
    const roots = { empty: folder('empty'), linked: folder('linked'), bare: folder('bare') };
    mkdirSync(join(roots.empty, 'etc'));
    mkdirSync(join(roots.linked, 'etc'));
    symlinkSync('../run/systemd/resolve/stub-resolv.conf', join(roots.linked, 'etc/resolv.conf'));
    const lacks = 'Names do not resolve: the image has no file /etc/resolv.conf.';
    const shown = async (open: Provider, image: string) => {
      const id = freshId();
      const { warnings } = await open.create(runtimeSpec(id, { image }), soon());
      const io = await open.attach({ id, epoch: 1 }, soon());
      const { stdout } = await runInside(io, ['cat', '/etc/resolv.conf']);
      io.close();
      await open.destroy({ id, epoch: 1 }, soon());
      if (warnings.includes(lacks))
        await expect(open.create(runtimeSpec(id, { image, strict: true }), soon())).rejects.toMatchObject({
          code: 'precondition_failed',
          details: { unmet: warnings },
        });
      return warnings.includes(lacks) ? [stdout, lacks] : [stdout];
    };
    const host = [readFileSync('/etc/resolv.conf', 'utf8')];
    expect(host).not.toEqual(['']);
    for (const runner of ['unshare', 'bwrap', 'proot'] as const) {
      const open = place.provider({ runner, network: 'host', images: roots });
      const expected = runner === 'unshare' ? host : ['', lacks];
      for (const [image, names] of [
        ['resolving:1', host],
        ['without:1', host],
        ['empty', expected],
        ['linked', expected],
        ['bare', ['', lacks]],
      ] as const)
        expect([runner, image, await shown(open, image)]).toEqual([runner, image, names]);
      await open.close();
    }
    expect(lstatSync(join(roots.linked, 'etc/resolv.conf')).isSymbolicLink()).toBe(true);
    expect((await runOn('resolving:1', 'cat /etc/resolv.conf')).out).toBe('');
  });

  it('keep their own name for the uid of the sandbox', async () => {
    const more = [{ name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n' }];
    await importBusybox(store, { name: 'node:1', more });
    expect((await runOn('node:1', 'id -un; cat /etc/passwd')).out).toBe(
      'node\nroot:x:0:0::/:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n',
    );
  });

  it('have a name for the uid where the image has no file of names', async () => {
    const bare = BASE.filter(({ name }) => !['etc/passwd', 'etc/group'].includes(`${name}`));
    await importBusybox(store, { name: 'nameless:1', layers: [tarArchive(...bare)] });
    expect((await runOn('nameless:1', 'id -un; id -gn; cat /etc/passwd')).out).toBe(
      'sandbox\nsandbox\nsandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n',
    );
  });

  it('bring variables that fit beside those that are too long', async () => {
    const Env = ['FIRST=1', `LONG=${'x'.repeat(16_379)}`, 'PATH=/opt/bin:/bin'];
    await importBusybox(store, { name: 'long:1', config: { Env } });
    const { out, warnings } = await runOn('long:1', 'echo $FIRST$LONG$PATH');
    expect(out).toBe('1/opt/bin:/bin\n');
    expect(warnings).toEqual(['Only 2 of 3 environment variables of the image are set.']);
  });

  it('bring only as many variables as fit', async () => {
    const Env = Array.from({ length: 60 }, (_, at) => `V${at}=${at}`);
    await importBusybox(store, { name: 'env:1', config: { Env } });
    const { out, warnings } = await runOn('env:1', 'env');
    expect(out).toContain('V47=47\n');
    expect(out).not.toContain('V48');
    expect(warnings).toEqual(['Only 48 of 60 environment variables of the image are set.']);
  });

  it('are released after a crash: by the next server, and with a run folder that has no record', async () => {
    const [found] = await importBusybox(store, { name: 'crash:1', more: [{ name: 'opt/crash' }] });
    const uses = join(found?.tree as string, '..', 'uses');
    const short = place.instance.id.replaceAll('-', '').slice(0, 12);
    const id = freshId();
    mkdirSync(`/run/svc/${short}/${id}.1`, { recursive: true });
    writeFileSync(join(uses, `${short}.${id}.1`), `/run/svc/${short}/${id}.1`);
    writeFileSync(join(uses, `${short}.${freshId()}.1`), `/run/svc/${short}/nowhere`);
    writeFileSync(join(uses, 'ffffffffffff.sb-other.1'), '/run/svc/ffffffffffff/nowhere');
    await expect(removeStored(store, 'crash:1')).rejects.toMatchObject({ code: 'conflict' });
    const next = place.provider({ runner: 'unshare' });
    await next
      .create(runtimeSpec(freshId(), { image: 'nobody/has:it', strict: true }), soon())
      .catch(() => {});
    expect(readdirSync(uses).sort()).toEqual([`${short}.${id}.1`, 'ffffffffffff.sb-other.1'].sort());
    await next.destroy({ id, epoch: 1 }, soon());
    expect(readdirSync(uses)).toEqual(['ffffffffffff.sb-other.1']);
    await next.close();
    await removeStored(store, 'crash:1');
  });
});
