// Requests to the backend (docs/custom-provider.md) and the meaning of its statuses. Its messages are never passed on.
import { type ErrorFacts, ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { CustomConfig } from '../../schema/config-backends.ts';
import type { ErrorCode } from '../../schema/error.ts';
import { invalidReply, KeyRefused } from '../outgoing/faults.ts';
import { type Outgoing, type OutgoingRequest, outgoing } from '../outgoing/outgoing.ts';
import type { Reply } from '../outgoing/reply.ts';

export const CUSTOM_BACKEND = 'The custom backend';
const MOST_RETRY_MS = 60_000;
/** Streams have connections of their own, so that they do not delay short calls. */
const STREAMS = 4096;

/** Errors for the statuses of one call, where they differ from MEANS. */
export type StatusMeanings = Record<number, readonly [code: ErrorCode, message: string, facts?: ErrorFacts]>;

export interface BackendRequest extends OutgoingRequest {
  means?: StatusMeanings;
}

export interface Backend {
  /** Resolves with a reply of status 200 to 299, whose body must be read or discarded. Rejects with the error of other statuses. */
  request(call: BackendRequest): Promise<Reply>;
  /** Like `request`, without a timeout for the body. */
  stream(call: BackendRequest): Promise<Reply>;
  close(): Promise<void>;
}

export function openBackend(
  { config, clock }: { config: CustomConfig; clock: Clock },
  timeoutMs: number,
): Backend {
  const headers = config.api_key === undefined ? {} : { authorization: `Bearer ${config.api_key}` };
  const options = { what: CUSTOM_BACKEND, baseUrl: config.base_url, clock, timeoutMs, headers };
  const calls = outgoing(options);
  const streams = outgoing({ ...options, connections: STREAMS });
  return {
    request: (call) => meant(calls, call),
    stream: (call) => meant(streams, { withinMs: 0, ...call }),
    close: async () => {
      await Promise.all([calls.close(), streams.close()]);
    },
  };
}

async function meant(client: Outgoing, { means = {}, ...ask }: BackendRequest): Promise<Reply> {
  const reply = await client.request(ask);
  if (reply.status >= 200 && reply.status < 300) return reply;
  await reply.discard();
  throw failure(reply, means);
}

const MEANS: StatusMeanings = {
  404: ['not_found', `${CUSTOM_BACKEND} does not have the requested object.`],
  408: ['timeout', `${CUSTOM_BACKEND} timed out.`],
  409: ['conflict', `${CUSTOM_BACKEND} reports a conflict.`],
  410: ['not_found', 'The sandbox no longer exists.'],
  429: ['resource_limit', `${CUSTOM_BACKEND} has no capacity now.`, { remedy: 'Try again later.' }],
  503: ['unavailable', `${CUSTOM_BACKEND} is temporarily unavailable.`, { remedy: 'Try again later.' }],
};

function failure({ status, headers }: Reply, means: StatusMeanings): ServiceError {
  if (status === 401)
    return new KeyRefused('provider_error', `${CUSTOM_BACKEND} rejects the configured key.`, {
      remedy: 'Set providers.custom.api_key to the key that it expects.',
    });
  const [code, message, facts = {}] = means[status] ?? MEANS[status] ?? [];
  if (code === undefined || message === undefined)
    return invalidReply(CUSTOM_BACKEND, `answered with status ${status}`);
  const retryAfterMs = status === 429 || status === 503 ? retryAfter(headers['retry-after']) : undefined;
  return new ServiceError(code, message, { ...facts, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

/** Reads a number of seconds; a date is ignored. */
function retryAfter(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text)
    ? Math.min(Number(text) * 1000, MOST_RETRY_MS)
    : undefined;
}

/** `value` as an object. Throws `provider_error`. */
export function objectIn(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw invalidReply(CUSTOM_BACKEND, 'sent a response that is not an object');
}
