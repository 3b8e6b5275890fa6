// Podman's service speaks the engine's interface, and yet cannot hold sandboxes: its conmon closes a container's standard
// input for ever when the first attached client goes (it is started without --leave-stdin-open, whatever StdinOnce says;
// seen with Podman 4.3.1 and conmon 2.1.6). After that nobody could speak to the agent again.
import { ServiceError } from '../../domain/errors.ts';
import type { EngineFacts } from './facts.ts';

/** The facts of an engine that can hold sandboxes; throws `provider_error` for Podman. */
export function capable(facts: EngineFacts): EngineFacts {
  if (!facts.is_podman) return facts;
  throw new ServiceError(
    'provider_error',
    `Podman ${facts.version} cannot hold sandboxes: it closes their standard input with the first connection that ends.`,
    { remedy: 'Run Docker Engine there, or use the userspace provider.' },
  );
}
