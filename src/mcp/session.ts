// Which sandboxes a session has. One over stdio has a sandbox of its own and ends all that it created; HTTP has no sessions.
import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import { abortable } from '../domain/timeout.ts';
import type { SandboxState } from '../schema/sandbox-states.ts';
import { createSandbox, LABEL } from './sandbox-tools.ts';
import type { McpSession, ToolCall } from './tool.ts';

/** For HTTP: each call names its sandbox, and sandboxes end by their lifetime. */
export const NO_SESSION: McpSession = {
  label: 'http',
  hasDefault: false,
  ending: 'It ends at expires_at. Destroy it when it is not needed any more.',
  sandbox: async (id) => {
    if (id !== undefined) return id;
    throw new ServiceError('bad_request', 'sandbox_id is missing.', {
      remedy: 'Create a sandbox with create_sandbox, and name it in each call.',
    });
  },
};

const ENDED: readonly string[] = ['destroying', 'destroyed', 'error'] satisfies SandboxState[];

type Caller = Pick<ToolCall, 'client' | 'signal'>;

export class StdioSession implements McpSession {
  readonly label: string;
  readonly hasDefault = true;
  readonly ending: string;
  readonly #keeps: boolean;
  readonly #ended = new AbortController();
  #own: Promise<string> | undefined;

  /** `keeps`: sandboxes stay until they expire. */
  constructor(label: string, keeps: boolean) {
    this.label = label;
    this.#keeps = keeps;
    this.ending = keeps
      ? 'It ends at expires_at.'
      : 'It ends with this session, at the latest at expires_at.';
  }

  async sandbox(id: string | undefined, call: Caller): Promise<string> {
    if (id !== undefined) return id;
    const current = this.#own;
    const own =
      current &&
      (await abortable(
        current.catch(() => undefined),
        call.signal,
      ));
    if (own !== undefined && (await isLive(own, call))) return own;
    // Calls at the same time share one.
    if (this.#own === current) this.#own = this.#create(call.client);
    return abortable(this.#own as Promise<string>, call.signal);
  }

  /** A call that is cancelled leaves the spawn to the calls that share it. */
  async #create(client: Client): Promise<string> {
    return (await createSandbox({}, this, { client, signal: this.#ended.signal })).id;
  }

  /** Destroys the sandboxes that the session created, found by their label, also those whose spawn was cut off. */
  async end(client: Client): Promise<void> {
    this.#ended.abort(new ServiceError('unavailable', 'The session has ended.'));
    if (this.#keeps) return;
    const query = { [`metadata.${LABEL}` as const]: this.label };
    const sandboxes = await client.listAll(query);
    await Promise.all(sandboxes.map(({ id }) => client.destroy(id)));
  }
}

async function isLive(id: string, { client, signal }: Caller): Promise<boolean> {
  try {
    return !ENDED.includes((await client.get(id, { signal })).state);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return false;
    throw error;
  }
}
