// Reads what a container uses, as a server in the namespaces of its engine does: socket, instance and sandbox are its arguments.
// Prints one reading before its first line of input, and one for each further line.
import { createInterface } from 'node:readline';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { containerProvider } from '../../../src/providers/container/container.ts';
import { silentLogger } from '../fakes/ports.ts';
import { containerConfig } from './container.ts';

const [socket = '', instanceId = '', key = '', id = ''] = process.argv.slice(2);
const provider = containerProvider({
  ...{ clock: realClock(), random: realRandom(), logger: silentLogger, instance: { id: instanceId, key } },
  config: { ...containerConfig(), socket },
  ...{ host: { uid: 0 }, packageRoot: packageRoot() },
});
const read = async () => {
  const readings = await provider.usage?.([{ id, epoch: 1 }], AbortSignal.timeout(20_000));
  process.stdout.write(`${JSON.stringify(readings?.get(id) ?? null)}\n`);
};
await read();
for await (const _ of createInterface({ input: process.stdin })) await read();
await provider.close();
