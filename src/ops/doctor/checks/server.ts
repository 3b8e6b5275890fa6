// The address where the service listens.
import { type CheckGroup, pass } from '../check.ts';
import { portFinding } from '../port-finding.ts';

export const SERVER: CheckGroup = {
  id: 'server',
  title: 'Server',
  checks: [
    {
      name: 'port',
      title: 'Port',
      look: async (context) => {
        const { host, port } = context.config.server;
        if (port === 0) return pass('The server uses a free port at each start.');
        return portFinding(context, {
          host,
          port,
          held: ({ address }) =>
            address?.endsWith(`:${port}`) ? `The service already listens on ${address}.` : undefined,
          settings: { port: 'server.port', host: 'server.host' },
        });
      },
    },
  ],
};
