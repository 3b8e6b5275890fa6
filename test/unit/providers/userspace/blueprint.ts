// A blueprint with every part in it, for the golden tests of both runners.
import type { Blueprint } from '../../../../src/providers/userspace/plan.ts';

export const blueprint: Blueprint = {
  name: 'sb-aaaaaaaaaaaa.3',
  id: 'sb-aaaaaaaaaaaa',
  view: {
    folders: ['/run', '/var'],
    links: [
      { path: '/var/tmp', target: '../tmp' },
      { path: '/bin', target: 'usr/bin' },
    ],
    binds: [
      { target: '/usr', source: '/usr' },
      { target: '/etc', source: '/run/svc/abc/etc' },
    ],
  },
  env: {},
  network: 'none',
  covers: [],
  agent: '/run/svc/abc/stage/svc-agent',
  sizes: { workspace: 256, tmp: 128, shm: 64, root: 32 },
  cgroups: { folders: [], limits: [], bounds: new Set() },
};
