// The ports in a sandbox by which its programs connect: that of the proxy, and those of the transparent gate.
import type { SandboxGate } from '../agent/gate-io.ts';
import { ServiceError } from '../domain/errors.ts';

/**
 * Opens exactly these ports; without `ports` the proxy alone. Resolves with those of the gate that could not be had. Rejects with
 * `conflict` when another program has the proxy port, with `not_implemented` when the sandbox has no transparent gate.
 */
export async function openPorts(
  gate: SandboxGate,
  proxy_port: number,
  ports: readonly number[] | undefined,
): Promise<readonly number[]> {
  const made = await gate.open({ proxy_port, ...(ports && { ports }) });
  if (!made.proxy)
    throw new ServiceError('conflict', `Another program in the sandbox uses port ${proxy_port}.`, {
      remedy: 'End it, or set egress.proxy_port to another port.',
    });
  if (ports && !made.gate)
    throw new ServiceError('not_implemented', 'The sandbox could not make a transparent gate.', {
      remedy: 'Spawn with the egress mode proxy. `svc sandbox logs` shows the reason.',
    });
  return made.missing;
}

export const noSession = () =>
  new ServiceError('not_implemented', 'The agent in the sandbox cannot carry outgoing connections.', {
    remedy: 'Spawn a new sandbox: this one started with an earlier version.',
  });
