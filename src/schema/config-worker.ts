// The section `worker` of the configuration: settings of `svc worker`, and of the server about its workers.
import { duration, flag, section, text, WORKER_ID } from './config-kinds.ts';
import { workerLabels } from './worker-labels.ts';

const WorkerTls = section('TLS for calls from the server to workers.', {
  cert_file: text('', 'PEM file of the client certificate.'),
  key_file: text('', 'PEM file of the private key.'),
  ca_file: text('', "PEM file of the authority that signed the other side's certificate."),
});

export const WorkerConfig = section(
  'Remote workers: settings of this process as a worker, and how the control plane calls workers.',
  {
    id: text('', 'Id of this worker; empty means the host name.', { pattern: `${WORKER_ID}|^$` }),
    control_plane_url: text(
      '',
      'URL of the control plane, for example https://svc.internal:7423; empty means the server that this configuration describes, if it listens on loopback.',
    ),
    listen_addr: text(
      'auto',
      'Address on which this worker accepts calls, as host:port. auto means a free port of loopback for a control plane on this machine, otherwise port 7424 of the address from which this host reaches it; empty accepts none.',
    ),
    labels: workerLabels(
      'Labels of this worker, such as gpu: a100; a spawn can ask for them with worker_labels. On a server, the labels of local.',
      { default: {} },
    ),
    advertise_url: text('', 'URL at which the server calls this worker; empty derives it from listen_addr.'),
    state_dir: text(
      '',
      'Folder in which this worker keeps the record of its sandboxes; empty means the folder of database.path.',
    ),
    heartbeat_interval: duration('30s', 'Heartbeat interval; at least 1s.'),
    shutdown_timeout: duration('10s', 'How long a stopping worker waits for calls in flight.'),
    allow_loopback_rpc: flag(
      false,
      'Let the server call workers on its own loopback addresses even if it listens on a non-loopback address.',
    ),
    sessions: flag(
      true,
      'Let control planes use the sandboxes of this worker: commands, files, logs and previews. Otherwise they answer 501.',
    ),
    tls: WorkerTls,
  },
);
