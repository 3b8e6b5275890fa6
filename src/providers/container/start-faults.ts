// Why a container did not come up, from the engine's words to ours. The words are no interface: what is not recognised
// is told in general and logged in full.
import { ServiceError } from '../../domain/errors.ts';
import { EngineRefusal } from './engine-faults.ts';

/** What we had put on the engine has been taken away; put there again, the same start may work. */
export class PartMissing extends Error {
  constructor(cause: unknown) {
    super('the agent volume or the network is not on the engine', { cause });
    this.name = 'PartMissing';
  }
}

const AGENT_MISSING = /svc-agent.*(no such file|not found)|(no such file|not found).*svc-agent/is;
const NETWORK_MISSING = /network .*not found|no such network/i;

/** In this order: the word `runtime` is in many messages. */
const REASONS: readonly [pattern: RegExp, message: string, remedy: string][] = [
  [/seccomp/i, 'The engine refuses the seccomp profile.', 'Check providers.container.seccomp_profile.'],
  [
    /capabilit/i,
    'The engine refuses the capabilities.',
    'Check providers.container.added_caps and dropped_caps.',
  ],
  [
    /rlimit/i,
    'The engine may not set the resource limits of the sandbox.',
    'Give the engine CAP_SYS_RESOURCE, or at least 16384 open files (LimitNOFILE).',
  ],
  [
    /unable to find user|no matching entries in passwd/i,
    "The engine does not find the sandbox's user in the image.",
    'Check providers.container.user.',
  ],
  [/no space left/i, 'The disk of the engine is full.', 'Free some space there.'],
  [/no such image/i, 'The image is no longer on the engine.', 'Try again, or put it there.'],
  [/runtime/i, 'The container runtime could not start the sandbox.', 'Check providers.container.runtime.'],
];

/** The error to give for a failed create, attach or start. */
export function startFault(error: unknown): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  if (AGENT_MISSING.test(error.words) || NETWORK_MISSING.test(error.words)) return new PartMissing(error);
  const [, message, remedy] = REASONS.find(([pattern]) => pattern.test(error.words)) ?? [];
  return new ServiceError('provider_error', message ?? 'The container engine could not start the sandbox.', {
    cause: error,
    remedy: remedy ?? 'Look up the request id in the log.',
  });
}
