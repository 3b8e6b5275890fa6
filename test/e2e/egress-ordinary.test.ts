// The transparent gate under a server that has no right: its sandboxes make their networks themselves.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { INTERCEPTED_NAMES, showsInterception } from '../support/checks/intercepted.ts';
import { egressKey, egressNetwork } from '../support/hosts/egress-network.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { cli, makeHome, removeHome, startServer } from '../support/servers/server.ts';

const NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];

describeWith(['root', 'unshare', 'python3', 'openssl'], 'egress of an ordinary user', () => {
  it.each(['auto', 'unshare'])(
    'has the gate, and credentials in TLS [%s]',
    async (runner) => {
      const home = makeHome(true);
      const net = await egressNetwork(cli, () => INTERCEPTED_NAMES);
      onTestFinished(() => {
        net.remove();
        removeHome(home);
      });
      const caFile = join(home, 'ca.pem');
      writeFileSync(caFile, net.ca, { mode: 0o644 });
      const [program, ...rest] = [...net.launch.program];
      const inside = [program, ...rest.slice(0, -3), ...NOBODY, ...rest.slice(-3)] as string[];
      const env = { ...net.launch.env, NODE_EXTRA_CA_CERTS: caFile, SVC_PROVIDERS_USERSPACE_RUNNER: runner };
      const server = await startServer({ node: net.launch.node, program: inside, env, home });
      const client = api(server.url, egressKey);
      await client.destroy(await showsInterception(client, net, true));
      expect(await server.stop()).toBe(0);
    },
    120_000,
  );
});
