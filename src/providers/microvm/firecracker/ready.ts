// Runs one Firecracker from its start to the moment its guest's agent answers. Firecracker does not report an open port, so
// this polls until the port accepts a connection.
import type { Clock } from '../../../domain/ports.ts';
import type { Detached } from '../../../host/host.ts';
import { notStarted, reasonOf, untilEnded, untilThere } from '../monitor.ts';
import type { MonitorPlan } from '../monitor-kind.ts';
import { MonitorRefusal } from '../qmp-faults.ts';
import { type FirecrackerApi, firecrackerApi } from './api.ts';
import { AGENT_PORT, requestsFor, START } from './requests.ts';
import { emptySettingsDisk } from './settings-disk.ts';
import { connectVsock } from './vsock.ts';

const TRY_MS = 1000;

/** See MonitorKind. The settings are removed from the guest's disk by then. */
export async function ready(
  clock: Clock,
  { process, plan }: { process: Detached; plan: MonitorPlan },
  signal: AbortSignal,
): Promise<void> {
  const either = untilEnded(process, signal);
  try {
    const api = firecrackerApi(clock, plan.sockets.monitor);
    await untilThere(clock, either, () => unstarted(api, either));
    for (const order of [...requestsFor(plan), START]) await api.put(order, either);
    const order = { clock, path: plan.sockets.agent, port: AGENT_PORT, ms: TRY_MS };
    const socket = await untilThere(clock, either, () => connectVsock(order, either));
    socket.destroy();
    await emptySettingsDisk(plan.settings);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MonitorRefusal) throw notStarted(error.message);
    throw await reasonOf(clock, { process, error });
  }
}

/** Its socket is a little later than the process. What answers there is to be new. */
async function unstarted(api: FirecrackerApi, signal: AbortSignal): Promise<void> {
  const { state } = ((await api.about(signal)) ?? {}) as { state?: unknown };
  if (state !== 'Not started') throw notStarted('the monitor already runs a guest');
}
