// The place where the service listens.
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
        if (server.port === 0) return pass('A free port is taken at each start.');
        const fault = await host.portFault(server.host, server.port);
        if (fault === undefined) return pass(`${place} is free.`);
        if (fault === 'EADDRINUSE') {
          const holder = await lockOwner(host, database.path);
          if (holder?.address?.endsWith(`:${server.port}`))
            return pass(`The service itself answers at ${holder.address}.`);
          return fail(`${place} is taken by another program.`, 'Stop that program, or set server.port.');
        }
        const remedy =
          fault === 'EACCES' ? 'Choose a port above 1023.' : 'Set server.host to an address of this machine.';
        return fail(`Nobody can listen at ${place} (${fault}).`, remedy);
      },
    },
  ],
};
