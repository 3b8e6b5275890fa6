// P54 of the speed table: a command through the SDK of E2B, against our own client in the same sandbox.
import { Sandbox } from 'e2b';
import { withHome } from './folders.ts';
import type { Group } from './group.ts';
import { programs } from './needs.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';
import { clocked } from './stats.ts';

export const e2bCommands: Group = {
  about: 'commands through the SDK of E2B',
  need: programs('unshare'),
  ids: ['P54'],
  run: withE2bRows,
};

/** `root`: of the package. */
function withE2bRows(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  return withHome((home) =>
    withServer(
      root,
      { home, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } },
      async ({ address, client }) => {
        const { id } = await client.spawn({ ttl: '1h' });
        const sandbox = await Sandbox.connect(id, { apiKey: 'e2b_0', apiUrl: address, sandboxUrl: address });
        await measure({
          id: 'P54',
          name: 'command through the SDK of E2B, beyond an exec of our client',
          target: 2,
          judged: 'difference',
          pairs: 300,
          ours: () => clocked(() => sandbox.commands.run('true')),
          baseline: () => clocked(() => client.exec(id, { command: 'true' })),
        });
        await client.destroy(id);
      },
    ),
  );
}
