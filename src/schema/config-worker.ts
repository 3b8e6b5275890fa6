// The section `worker` of the configuration: what `svc worker` is told, and what the server knows of its workers.
import { duration, flag, section, text, WORKER_ID } from './config-kinds.ts';

const WorkerTls = section('TLS of the calls from the server to workers.', {
  cert_file: text('', 'PEM file of our certificate.'),
  key_file: text('', 'PEM file of the key to it.'),
  ca_file: text('', "PEM file of the authority that signed the other side's certificate."),
});

export const WorkerConfig = section(
  'Remote workers: how this process is one, and how the control plane reaches them.',
  {
    id: text('', 'Name of this worker; empty is the host name.', { pattern: `${WORKER_ID}|^$` }),
    control_plane_url: text(
      '',
      'The server that this worker belongs to, for example https://svc.internal:7423.',
    ),
    listen_addr: text('', 'Address on which this worker takes calls, as host:port; empty takes none.'),
    advertise_url: text('', 'Where the server reaches this worker; empty is made from listen_addr.'),
    heartbeat_interval: duration('30s', 'How often a worker tells that it is there; at least 1s.'),
    shutdown_timeout: duration('10s', 'How long a worker that stops waits for calls in flight.'),
    allow_loopback_rpc: flag(
      false,
      'Let the server call workers on its own loopback addresses, also where others than this machine can call it.',
    ),
    tls: WorkerTls,
  },
);
