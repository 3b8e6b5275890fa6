// What a sandbox is given instead of what was requested is said each time, and refused for a strict spawn: by real servers with
// each kind of sandbox, one table for all.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { busyboxImage } from '../support/hosts/microvm.ts';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { describeWith, type Need } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import {
  cli,
  makeHome,
  packageRoot,
  removeHome,
  type ServerOptions,
  startServer,
  type TestServer,
  userOf,
} from '../support/servers/server.ts';

const NOBODY_HAS = 'team/nobody-has-it:1';
const NO_CGROUPS =
  'memory_mb limits each process, not their sum, and vcpus is not enforced: the server cannot create cgroups.';
const PROOT =
  'proot does not isolate: this sandbox can reach the files, processes and network of the host as its user.';

interface Kind {
  name: string;
  needs: Need[];
  env(home: string): Promise<Record<string, string>> | Record<string, string>;
  options?: Pick<ServerOptions, 'node' | 'program' | 'ordinaryUser'>;
  /** What each sandbox here lacks. */
  always: string[];
  /** The difference for each request. A request without one is refused in any case, with this code. */
  cases: [request: object, difference: string | { code: string }][];
  /** Of the sandbox that has all of these differences. */
  given: Partial<Sandbox>;
  /** The codes for an image that nobody has where images can be pulled: by a strict spawn, another, and one that pulls never. */
  noImage?: string[];
}

const userspace = (runner: string) => ({
  SVC_PROVIDERS_DEFAULT: 'userspace',
  SVC_PROVIDERS_USERSPACE_RUNNER: runner,
  SVC_PROVIDERS_USERSPACE_MAX_MEMORY_MB: '64',
});
const OTHER_ROOT: Kind['cases'][0] = [
  { image: NOBODY_HAS },
  `Image ${NOBODY_HAS} is not on this machine: the sandbox runs on host.`,
];
const LESS_MEMORY: Kind['cases'][0] = [
  { memory_mb: 128 },
  'memory_mb is 64 instead of 128: providers.userspace.max_memory_mb limits it.',
];
const noNetwork = (kind: string): Kind['cases'][0] => [
  { network: 'default' },
  `network: sandboxes of ${kind} have no network here.`,
];
const USERSPACE: Kind['cases'] = [noNetwork('userspace'), OTHER_ROOT, LESS_MEMORY];
const TRACED: Kind['cases'] = [[{ network: 'none' }, { code: 'not_implemented' }], OTHER_ROOT, LESS_MEMORY];
const HOST = { image: 'host', memory_mb: 64 };

/** The same server on a host that shows it no cgroups. */
const withoutCgroups = (): NonNullable<Kind['options']> => {
  const hide = 'mount -t tmpfs -o ro tmpfs /sys/fs/cgroup && exec "$@"';
  return {
    node: '/usr/bin/unshare',
    program: ['--mount', 'sh', '-c', hide, 'sh', process.execPath, cli, 'serve'],
  };
};

/** The server may pull from no registry. */
const REFUSED = ['forbidden', 'forbidden', 'not_found'];

const KINDS: Kind[] = [
  {
    ...{ name: 'unshare', needs: ['root', 'unshare'], env: () => userspace('unshare'), always: [] },
    ...{ cases: USERSPACE, given: HOST },
  },
  {
    ...{ name: 'bwrap', needs: ['root', 'bwrap'], env: () => userspace('bwrap'), always: [] },
    ...{ cases: USERSPACE, given: HOST },
  },
  {
    ...{ name: 'unshare without cgroups', needs: ['root', 'unshare'], env: () => userspace('unshare') },
    ...{ options: withoutCgroups(), always: [NO_CGROUPS], cases: USERSPACE, given: HOST },
  },
  {
    ...{ name: 'unshare by an ordinary user', needs: ['root', 'unshare'], env: () => userspace('unshare') },
    ...{ options: { ordinaryUser: true }, always: [NO_CGROUPS], cases: USERSPACE, given: HOST },
  },
  {
    ...{ name: 'proot', needs: ['root', 'proot'], env: () => userspace('proot'), always: [PROOT] },
    ...{ cases: TRACED, given: HOST },
  },
  {
    ...{ name: 'proot by an ordinary user', needs: ['root', 'proot'], env: () => userspace('proot') },
    ...{ options: { ordinaryUser: true }, always: [PROOT, NO_CGROUPS], cases: TRACED, given: HOST },
    // It cannot protect an image, so none is pulled.
    noImage: ['not_found', 'not_found', 'not_found'],
  },
  {
    ...{ name: 'container', needs: ['root', 'docker'], always: [] },
    env: async () => ({
      SVC_PROVIDERS_DEFAULT: 'container',
      SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
      SVC_PROVIDERS_CONTAINER_SOCKET: (await sharedEngine()).socket,
      SVC_PROVIDERS_CONTAINER_NETWORK_MODE: 'none',
      SVC_PROVIDERS_CONTAINER_PULL: 'never',
      SVC_PROVIDERS_CONTAINER_MAX_MEMORY_MB: '64',
      SVC_DEFAULTS_IMAGE: IMAGES.busybox,
    }),
    cases: [
      noNetwork('container'),
      [{ image: NOBODY_HAS }, { code: 'provider_error' }],
      [{ memory_mb: 128 }, 'memory_mb is 64: providers.container.max_memory_mb sets this limit.'],
    ],
    given: { image: IMAGES.busybox, memory_mb: 64 },
    noImage: ['provider_error', 'provider_error', 'provider_error'],
  },
  {
    ...{ name: 'microvm', needs: ['root', 'qemu', 'busybox', 'mke2fs'], always: [] },
    env: (home) => ({
      SVC_PROVIDERS_DEFAULT: 'microvm',
      SVC_PROVIDERS_MICROVM_ENABLED: 'true',
      SVC_PROVIDERS_MICROVM_ACCELERATOR: 'emulation',
      SVC_PROVIDERS_MICROVM_NETWORK: 'none',
      SVC_PROVIDERS_MICROVM_OVERLAY_MB: '0',
      SVC_PROVIDERS_MICROVM_MAX_MEMORY_MB: '128',
      SVC_PROVIDERS_MICROVM_DATA_DIR: `${packageRoot}/.cache/microvm`,
      SVC_PROVIDERS_MICROVM_SNAPSHOTS: 'false',
      SVC_PROVIDERS_MICROVM_IMAGES: JSON.stringify({ busybox: busyboxImage(home) }),
      SVC_DEFAULTS_MEMORY_MB: '128',
    }),
    cases: [
      noNetwork('microvm'),
      [{ image: NOBODY_HAS }, `Image ${NOBODY_HAS} is not on this machine: the sandbox runs on busybox.`],
      [{ memory_mb: 256 }, 'Memory is 128 MB instead of 256.'],
    ],
    given: { image: 'busybox', memory_mb: 128 },
  },
];

for (const { name, needs, env, options, always, cases, given, noImage = REFUSED } of KINDS) {
  describeWith(needs, `what ${name} does not give`, () => {
    const differing = cases.filter(([, difference]) => typeof difference === 'string');
    const refused = cases.filter(([, difference]) => typeof difference !== 'string');
    // What the host does not limit refuses no strict spawn.
    const unmet = always.filter((sentence) => sentence !== NO_CGROUPS);
    const isTraced = name.startsWith('proot');
    /** A request that has no difference of its own. */
    const plain = isTraced ? { memory_mb: 64 } : { memory_mb: given.memory_mb, network: 'none' };
    const all = Object.assign({}, ...differing.map(([request]) => request)) as object;
    let [loose, strict]: [TestServer | undefined, TestServer | undefined] = [undefined, undefined];
    let [onLoose, onStrict]: [Api, Api] = [api(''), api('')];

    beforeAll(async () => {
      const started = async (more: Record<string, string>) => {
        const home = makeHome(options?.ordinaryUser);
        return startServer({ home, ...options, env: { ...(await env(home)), ...more } });
      };
      loose = await started({ SVC_IMAGES_PULL: 'never' });
      strict = await started({
        SVC_IMAGES_PULL: 'missing',
        SVC_IMAGES_REGISTRIES: '',
        SVC_DEFAULTS_STRICT: 'true',
      });
      [onLoose, onStrict] = [api(loose.url), api(strict.url)];
    }, 180_000);
    afterAll(async () => {
      for (const server of [loose, strict]) {
        await server?.stop();
        if (server) removeHome(server.home);
      }
    });
    const spawned = (client: Api, request: object) => client.call<Sandbox>('POST', '/sandboxes', request);
    const refusal = {
      status: 412,
      body: { code: 'precondition_failed', details: { unmet } },
    };
    const nothingRuns = async (client: Api) =>
      expect((await client.call('GET', '/sandboxes')).body).toEqual([]);

    it('is a warning each, in every answer, and what runs is as they say', async () => {
      const expected = [
        ...differing.filter(([request]) => 'network' in request),
        ...differing.filter(([request]) => 'image' in request),
      ].map(([, difference]) => difference);
      const memory = differing.filter(([request]) => 'memory_mb' in request).map(([, words]) => words);
      const sandbox = await onLoose.spawn(all);
      expect(new Set(sandbox.warnings)).toEqual(new Set([...expected, ...memory, ...always]));
      expect(sandbox).toMatchObject(given);
      expect((await onLoose.call('GET', `/sandboxes/${sandbox.id}`)).body).toMatchObject({
        warnings: sandbox.warnings,
      });
      expect((await onLoose.call('GET', '/sandboxes')).body).toMatchObject([{ warnings: sandbox.warnings }]);
      if (!isTraced) {
        const devices = (await onLoose.sh(sandbox.id, 'cat /proc/net/dev')).stdout;
        expect(devices.match(/^ *\w+:/gm)?.map((text) => text.trim())).toEqual(['lo:']);
      }
      await onLoose.destroy(sandbox.id);
    }, 180_000);

    it('is refused for a strict spawn, each named, before anything runs', async () => {
      for (const [request, difference] of differing) {
        const answer = await spawned(onLoose, { ...plain, ...request, strict: true });
        const { details } = answer.body as unknown as { details?: { unmet?: string[] } };
        expect([request, answer.status, new Set(details?.unmet)]).toEqual([
          request,
          412,
          'network' in request ? new Set([difference]) : new Set([difference, ...unmet]),
        ]);
      }
      await nothingRuns(onLoose);
    }, 120_000);

    if (always.length > 0)
      it('is a warning of every spawn', async () => {
        const sandbox = await onLoose.spawn(plain);
        expect(sandbox.warnings).toEqual(always);
        await onLoose.destroy(sandbox.id);
      });

    if (unmet.length > 0)
      it('is a refusal of every strict spawn', async () => {
        expect(await spawned(onLoose, { ...plain, strict: true })).toMatchObject(refusal);
        expect(await spawned(onStrict, plain)).toMatchObject(refusal);
      });

    if (refused.length > 0)
      it('is an error where nothing could stand for it', async () => {
        for (const [request, refusal] of refused)
          for (const strict of [true, false]) {
            const { body } = await spawned(onLoose, { ...request, strict });
            expect([request, body]).toMatchObject([request, refusal]);
          }
        await nothingRuns(onLoose);
      });

    it('is refused by defaults.strict, unless the request says otherwise', async () => {
      const [request, difference] = differing.find(([one]) => 'memory_mb' in one) as (typeof cases)[0];
      const answer = await spawned(onStrict, { ...plain, ...request });
      expect(answer).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
      const sandbox = await onStrict.spawn({ ...plain, ...request, strict: false });
      expect(new Set(sandbox.warnings)).toEqual(new Set([difference, ...always]));
      await onStrict.destroy(sandbox.id);
    }, 120_000);

    if (unmet.length === 0)
      it('is nothing for a strict spawn of what there is', async () => {
        const sandbox = await onStrict.spawn(plain);
        expect(sandbox.warnings).toBeUndefined();
        await onStrict.destroy(sandbox.id);
      }, 120_000);

    it('is an error, not another image, where images can be pulled', async () => {
      const codes = [];
      for (const more of [{ strict: true }, { strict: false }, { strict: false, pull: 'never' }]) {
        const { body } = await spawned(onStrict, { ...plain, image: NOBODY_HAS, ...more });
        codes.push((body as unknown as { code: string }).code);
      }
      expect(codes).toEqual(noImage);
      await nothingRuns(onStrict);
    });

    if (always.includes(NO_CGROUPS) && options?.ordinaryUser)
      it('is told by doctor', async () => {
        const args = ['doctor', '--only', 'userspace.limits', '--json'];
        const run = await runCli(args, loose?.env, '', userOf(options ?? {}));
        const { groups } = JSON.parse(run.stdout) as { groups: { checks: object[] }[] };
        expect(groups[0]?.checks[0]).toMatchObject({
          verdict: 'warn',
          message: expect.stringContaining(NO_CGROUPS),
        });
      });
  });
}
