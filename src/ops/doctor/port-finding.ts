// Whether the server can listen on an address.
import { type CheckContext, type Finding, fail, pass } from './check.ts';
import { type LockOwner, lockOwner } from './lock-owner.ts';

interface Listen {
  host: string;
  port: number;
  /** What to say where the service that runs holds the port; undefined: another program does. */
  held(service: LockOwner): string | undefined;
  /** The setting to change for another port, and for another address. */
  settings: { port: string; host: string };
}

/** `held` is asked when the address is in use and a service runs over this database. */
export async function portFinding(
  { host, config }: Pick<CheckContext, 'host' | 'config'>,
  { host: name, port, held, settings }: Listen,
): Promise<Finding> {
  const place = `${name}:${port}`;
  const fault = await host.portFault(name, port);
  if (fault === undefined) return pass(`${place} is free.`);
  if (fault === 'EADDRINUSE') {
    const service = await lockOwner(host, config.database.path);
    const message = service && held(service);
    return message === undefined
      ? fail(`Another program listens on ${place}.`, `Stop that program, or change ${settings.port}.`)
      : pass(message);
  }
  const remedy =
    fault === 'EACCES'
      ? `Set ${settings.port} to a port above 1023.`
      : `Set ${settings.host} to an address of this machine.`;
  return fail(`The server cannot listen on ${place} (${fault}).`, remedy);
}
