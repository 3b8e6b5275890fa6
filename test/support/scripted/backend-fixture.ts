// What the contracts of providers with a backend behind HTTP stand on: sandboxes at a scripted backend, and looks into it.
import { expect } from 'vitest';
import type { Exec, SandboxFiles, SandboxIo } from '../../../src/agent/io.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import type { Promises, ProviderGround } from '../../contract/provider.suite.ts';
import { freshId, runtimeSpec, soon } from '../hosts/userspace.ts';

/** No stream tells of their ends; what bounds their memory and parts their networks is the backend's affair. */
export const PROMISES: Omit<Promises, 'moments'> = {
  ...{ outlasts: true, watches: false, separatesNetworks: false, measures: false, memory: 'nobody' },
};

interface Held {
  state: string;
  metadata: Record<string, string>;
}

export interface FixtureBackend<Sandbox extends Held> {
  instance: { id: string };
  sandboxes: Map<string, Sandbox>;
  provider(instance?: { id: string }): Provider;
}

export class BackendFixture<Sandbox extends Held> {
  readonly #backend: FixtureBackend<Sandbox>;
  readonly #others: Provider[] = [];
  readonly provider: Provider;

  constructor(backend: FixtureBackend<Sandbox>) {
    this.#backend = backend;
    this.provider = backend.provider();
  }

  /** Another server's; closed with the rest. */
  other(instance?: { id: string }): Provider {
    const made = this.#backend.provider(instance);
    this.#others.push(made);
    return made;
  }

  sandbox(runtime_id: string): Sandbox {
    const found = this.#backend.sandboxes.get(runtime_id);
    if (!found) throw new Error('the backend has no such sandbox');
    return found;
  }

  /** `dead` is the state of one that has died. */
  contract(dead: Sandbox['state']): ProviderGround {
    const { instance, sandboxes } = this.#backend;
    return {
      provider: this.provider,
      restarted: () => this.other(),
      stranger: () => this.other({ id: `ffff${instance.id.slice(4)}` }),
      spec: runtimeSpec,
      left: async (ids) =>
        [...sandboxes.values()].map(({ metadata }) => metadata.svc_id ?? '').filter((id) => ids.includes(id)),
      kill: async (runtime_id) => {
        this.sandbox(runtime_id).state = dead;
      },
      freeze: async () => undefined,
    };
  }

  /** Runs `use` in a fresh sandbox, which ends with it. */
  async inside(use: (io: SandboxIo, runtime_id: string) => Promise<void>): Promise<void> {
    const id = freshId();
    const { runtime_id } = await this.provider.create(runtimeSpec(id), soon());
    try {
      await use(await this.provider.attach({ id, epoch: 1, runtime_id }, soon()), runtime_id);
    } finally {
      await this.provider.destroy({ id, epoch: 1, runtime_id }, soon());
    }
  }

  /** Closing twice is safe. */
  async close(): Promise<void> {
    for (const one of [this.provider, this.provider, ...this.#others]) await one.close();
  }
}

export const shell = (io: SandboxIo, line: string, more: object = {}, signal?: AbortSignal): Exec =>
  io.exec({ exec_id: freshId(), argv: ['/bin/sh', '-c', line], label: line, env: {}, ...more }, signal);

/** What `files` lists and finds is charged to whoever asks for it, and a full account ends both. */
export async function listsOnAccount(files: SandboxFiles): Promise<void> {
  await files.write('/workspace/listed', Buffer.from('x'), {});
  const full = new ServiceError('resource_limit', 'full');
  const refusing = () => {
    throw full;
  };
  const held: number[] = [];
  const room = { grow: (bytes: number) => void held.push(bytes) };
  await files.list('/workspace', 1, undefined, room);
  expect(Math.max(...held)).toBeGreaterThan('/workspace/listed'.length);
  const before = held.length;
  expect(await files.glob('/workspace/*', 10, undefined, room)).toContain('/workspace/listed');
  expect(held.length).toBeGreaterThan(before);
  await expect(files.list('/workspace', 1, undefined, { grow: refusing })).rejects.toBe(full);
  await expect(files.glob('/workspace/*', 10, undefined, { grow: refusing })).rejects.toBe(full);
}
