// The section e2b of the configuration.
import { choice, flag, section, text } from './config-kinds.ts';

export const E2bConfig = section('The interface for programs that were written for E2B (docs/e2b.md).', {
  enabled: flag(
    true,
    'Serve it on the address of the server. Without authentication it is served on loopback addresses only.',
  ),
  listen: text(
    '',
    'Address of a further listener with TLS, as host:port, for example 127.0.0.1:7443. It serves this interface and the ports of sandboxes by the names of server.preview_domain, which is e2b.localhost unless it is set, and nothing else; empty means none.',
    { maxLength: 300 },
  ),
  cert_file: text(
    '',
    'PEM file of the certificate of that listener, for server.preview_domain and all names below it; empty means one of an authority of its own, which svc e2b env --tls shows to programs.',
  ),
  key_file: text('', 'PEM file of the private key of that certificate.'),
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
