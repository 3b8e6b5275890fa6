// What a user-mode network adds to a spawn. It belongs to the configuration of the server.
import { spawnTime } from './egress.ts';
import { withHome } from './folders.ts';
import type { Group } from './group.ts';
import { programs } from './needs.ts';
import { withServer } from './server.ts';

const ENV = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_USERSPACE_NETWORK: 'user',
  SVC_PROVIDERS_USERSPACE_NAME_SERVERS: '9.9.9.9',
};

export const userNetwork: Group = {
  about: 'a user-mode network of userspace sandboxes',
  need: programs('unshare', 'slirp4netns'),
  ids: ['P42-user'],
  run: (root, measure) =>
    withHome((home) =>
      withServer(root, { home, env: ENV }, ({ client }) =>
        measure({
          id: 'P42-user',
          name: 'spawn with a user-mode network, beyond one without',
          target: 40,
          judged: 'difference',
          pairs: 60,
          ours: () => spawnTime(client, {}),
          baseline: () => spawnTime(client, { network: 'none' }),
        }),
      ),
    ),
};
