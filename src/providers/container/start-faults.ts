// Maps the engine's messages about a failed start to our errors. The messages are not a stable interface: an unknown one
// gets a general error and is logged in full.
import { ServiceError } from '../../domain/errors.ts';
import { EngineRefusal } from './engine-faults.ts';
import { LINK_FOLDER } from './links.ts';

/** A prerequisite of the plan was removed from the engine; the same start may succeed with a new plan. */
export class PrerequisiteMissing extends Error {
  readonly part: 'agent volume' | 'network' | 'image' | 'link';

  constructor(part: PrerequisiteMissing['part'], cause: unknown) {
    super(`the ${part} is no longer on the engine`, { cause });
    this.name = 'PartMissing';
    this.part = part;
  }
}

const AGENT_MISSING = /svc-agent.*(no such file|not found)|(no such file|not found).*svc-agent/is;
const MISSING: readonly [part: PrerequisiteMissing['part'], pattern: RegExp][] = [
  ['agent volume', AGENT_MISSING],
  ['network', /network .*not found|no such network/i],
  ['image', /no such image/i],
];

/** Checked in this order: the word `runtime` is in many messages. */
const REASONS: readonly [pattern: RegExp, message: string, remedy: string][] = [
  [/seccomp/i, 'The engine refuses the seccomp profile.', 'Check providers.container.seccomp_profile.'],
  [
    /capabilit/i,
    'The engine refuses the capabilities.',
    'Check providers.container.added_caps and dropped_caps.',
  ],
  [
    /rlimit/i,
    'The engine is not allowed to set the resource limits of the sandbox.',
    'Give the engine CAP_SYS_RESOURCE, or at least 16384 open files (LimitNOFILE).',
  ],
  [
    /unable to find user|no matching entries in passwd/i,
    "The engine does not find the sandbox's user in the image.",
    'Check providers.container.user.',
  ],
  [/no space left/i, 'The disk of the engine is full.', 'Free some space on that disk.'],
  [/runtime/i, 'The container runtime could not start the sandbox.', 'Check providers.container.runtime.'],
];

/** The engine names the target or the source of the mount of a link, in words of its own. */
const namesLink = (words: string, folder: string | undefined) =>
  folder !== undefined && (words.includes(folder) || words.includes(LINK_FOLDER));

/** The error for a failed create, attach or start, of a container with the folder of a link or without. */
export function startFault(error: unknown, folder?: string): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  if (namesLink(error.words, folder)) return new PrerequisiteMissing('link', error);
  const [part] = MISSING.find(([, pattern]) => pattern.test(error.words)) ?? [];
  if (part) return new PrerequisiteMissing(part, error);
  const [, message, remedy] = REASONS.find(([pattern]) => pattern.test(error.words)) ?? [];
  return new ServiceError('provider_error', message ?? 'The container engine could not start the sandbox.', {
    cause: error,
    remedy: remedy ?? 'Look up the request id in the log.',
  });
}

/** The error of a second attempt after a missing prerequisite: something removes it while sandboxes start. */
export function missedAgain({ part }: PrerequisiteMissing, error: unknown): unknown {
  const isMissing = error instanceof PrerequisiteMissing;
  const isRefused = part === 'image' && error instanceof ServiceError && error.code === 'provider_error';
  if (!isMissing && !isRefused) return error;
  const removed = isMissing ? error.part : part;
  return new ServiceError(
    'unavailable',
    `The ${removed} was removed from the engine while the sandbox started.`,
    {
      cause: error,
      remedy: removed === 'image' ? 'Import it into the engine, then try again.' : 'Try again.',
    },
  );
}
