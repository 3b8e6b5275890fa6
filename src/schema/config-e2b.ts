// The section e2b of the configuration.
import { choice, flag, section } from './config-kinds.ts';

export const E2bConfig = section('The interface for programs that were written for E2B (docs/e2b.md).', {
  enabled: flag(
    true,
    'Serve it on the address of the server. Without authentication it is served on loopback addresses only.',
  ),
  egress: choice(
    ['default', 'none', 'public'],
    'default',
    'Outgoing connections of sandboxes whose programs do not deny them. default: as for any spawn; none: no network; public: an egress policy that allows everything public.',
  ),
  on_timeout: choice(
    ['refuse', 'end'],
    'refuse',
    'What happens when a program asks that its sandbox be paused at its timeout, which this server cannot do: refuse the sandbox, or end it at the timeout.',
  ),
});
