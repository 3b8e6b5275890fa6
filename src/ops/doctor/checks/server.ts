// The address where the service listens.
import { type CheckGroup, fail, pass } from '../check.ts';
import { lockOwner } from '../lock-owner.ts';

export const SERVER: CheckGroup = {
  id: 'server',
  title: 'Server',
  checks: [
    {
      name: 'port',
      title: 'Port',
      look: async ({ host, config: { server, database } }) => {
        const place = `${server.host}:${server.port}`;
        if (server.port === 0) return pass('The server uses a free port at each start.');
        const fault = await host.portFault(server.host, server.port);
        if (fault === undefined) return pass(`${place} is free.`);
        if (fault === 'EADDRINUSE') {
          const holder = await lockOwner(host, database.path);
          if (holder?.address?.endsWith(`:${server.port}`))
            return pass(`The service already listens on ${holder.address}.`);
          return fail(`Another program listens on ${place}.`, 'Stop that program, or change server.port.');
        }
        const remedy =
          fault === 'EACCES' ? 'Choose a port above 1023.' : 'Set server.host to an address of this machine.';
        return fail(`The server cannot listen on ${place} (${fault}).`, remedy);
      },
    },
  ],
};
