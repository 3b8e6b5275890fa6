// A provider that does what it is told instead of what it should, at the nth call of an operation.
import type { Provider } from '../../../src/providers/provider.ts';

export type Operation = 'create' | 'inspect' | 'destroy' | 'attach' | 'list' | 'probe';

/**
 * fail: nothing is done, and it says so · lost: it is done, the answer is an error · hang: nothing is done, no answer,
 * not even to an abort · late: no answer, not even to an abort, until `release()`: then it is done and answered.
 */
export type Fault = 'fail' | 'lost' | 'hang' | 'late';

export interface ScriptedProvider extends Provider {
  /** Asked for each call, with its number from 1; undefined: it works. */
  decide: (operation: Operation, call: number) => Fault | undefined;
  /** Calls made so far. */
  readonly calls: Record<Operation, number>;
  /** Lets all `late` calls go on. */
  release(): void;
}

export function scriptedProvider(inner: Provider): ScriptedProvider {
  const calls: Record<Operation, number> = {
    create: 0,
    inspect: 0,
    destroy: 0,
    attach: 0,
    list: 0,
    probe: 0,
  };
  const late: (() => void)[] = [];
  const scripted: ScriptedProvider = {
    ...inner,
    calls,
    decide: () => undefined,
    release: () => {
      for (const go of late.splice(0)) go();
    },
    create: (spec, signal) => act('create', () => inner.create(spec, signal)),
    inspect: (ref, signal) => act('inspect', () => inner.inspect(ref, signal)),
    destroy: (ref, signal) => act('destroy', () => inner.destroy(ref, signal)),
    attach: (ref, signal) => act('attach', () => inner.attach(ref, signal)),
    list: (signal) => act('list', () => inner.list(signal)),
    probe: (signal) => act('probe', () => inner.probe(signal)),
  };
  const act = async <T>(operation: Operation, work: () => Promise<T>): Promise<T> => {
    const fault = scripted.decide(operation, ++calls[operation]);
    if (fault === undefined) return work();
    if (fault === 'hang') return new Promise<never>(() => {});
    if (fault === 'late') await new Promise<void>((go) => late.push(go));
    if (fault === 'fail') throw new Error(`scripted: ${operation} failed at /srv/secret/place`);
    const done = await work();
    if (fault === 'lost') throw new Error(`scripted: the answer to ${operation} is lost`);
    return done;
  };
  return scripted;
}
