// Other workers as a control plane calls them: a fake provider each, and a line to it that a test may cut. `lost` lets the
// next call through and loses its answer; behind `hang` nobody answers, nor says so.
import { ServiceError } from '../../../src/domain/errors.ts';
import { guard } from '../../../src/providers/guard.ts';
import type { Provider, RemoteProviders, RemoteWorker } from '../../../src/providers/provider.ts';
import type { Lease } from '../../../src/schema/lease.ts';
import type { FakeDeps } from './ports.ts';
import { type FakeProvider, fakeProvider } from './provider.ts';

export type Line = 'open' | 'cut' | 'lost' | 'hang';

export interface FakeRemote extends RemoteProviders {
  lines: Map<string, Line>;
  /** What came, in order: worker, what, sandbox. */
  calls: string[];
  leases: Lease[];
  worker(id: string): FakeProvider;
}

export function fakeRemote(deps: FakeDeps): FakeRemote {
  const workers = new Map<string, FakeProvider>();
  const lines = new Map<string, Line>();
  const calls: string[] = [];
  const leases: Lease[] = [];
  const worker = (id: string) => {
    const made = workers.get(id) ?? fakeProvider(deps);
    workers.set(id, made);
    return made;
  };
  const pass = async <T>({ id }: RemoteWorker, what: string, deed: () => Promise<T>): Promise<T> => {
    calls.push(`${id} ${what}`);
    const line = lines.get(id) ?? 'open';
    if (line === 'lost') lines.set(id, 'open');
    if (line === 'cut') throw unreached();
    if (line === 'hang') await new Promise(() => {});
    const result = await deed();
    if (line === 'lost') throw unreached();
    return result;
  };
  return {
    ...{ lines, calls, leases, worker },
    images: () => {
      throw unreached();
    },
    of: (to, kind): Provider => {
      const inner = worker(to.id);
      const note = (lease: Lease | undefined) => void (lease && leases.push(lease));
      return guard(
        {
          ...inner,
          kind: kind as Provider['kind'],
          create: (spec, signal) => {
            note(spec.lease);
            return pass(to, `spawn ${spec.id}`, () => inner.create(spec, signal));
          },
          inspect: (ref, signal) => pass(to, `status ${ref.id}`, () => inner.inspect(ref, signal)),
          destroy: (ref, signal) => {
            note(ref.lease);
            return pass(to, `destroy ${ref.id}`, () => inner.destroy(ref, signal));
          },
        },
        deps,
      );
    },
    renew: (to, lease, sandbox_ttl) =>
      pass(to, `renew ${lease.resource_id} ${sandbox_ttl}`, async () => void leases.push(lease)),
    shutdown: (to) => pass(to, 'shutdown', async () => {}),
    close: async () => {},
  };
}

const unreached = () => new ServiceError('unavailable', 'The worker cannot be reached.');
