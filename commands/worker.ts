// svc worker
import { Flags } from '@oclif/core';
import { runWorker, runWorkerOnce } from '../src/app/run-worker.ts';
import { configFlag } from '../src/cli/config-flag.ts';
import { line } from '../src/cli/print.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

export default class Worker extends SvcCommand {
  static override summary = 'Run sandboxes on this host for a remote control plane.';
  static override description =
    'Sends heartbeats to the control plane until SIGTERM or SIGINT, accepts its calls and runs the sandboxes that it assigns. On the machine of a server without authentication it needs no flag and no credential; elsewhere it needs the URL of the server and a token. A stop waits for calls in flight. Sandboxes keep running until their leases end, and the next start takes them over. The worker enforces leases and TTLs itself, also while the control plane cannot be reached.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --control-plane https://svc.internal:7423 --listen 10.0.0.5:7424',
    '<%= config.bin %> <%= command.id %> --id edge-1 --control-plane https://svc.internal:7423 --once',
  ];
  static override flags = {
    config: configFlag,
    id: Flags.string({ description: 'Name of this worker (worker.id); defaults to the host name.' }),
    'control-plane': Flags.string({
      description: 'URL of the server (worker.control_plane_url); defaults to the server on this machine.',
      helpValue: '<url>',
    }),
    'worker-token': Flags.string({
      description:
        'Secret of this worker, or a signed token for heartbeats only. Other users of this host can read it on the command line; auth.worker_token_file hides it.',
      helpValue: '<token>',
    }),
    'heartbeat-interval': Flags.string({
      description: 'Heartbeat interval (worker.heartbeat_interval).',
      helpValue: '<duration>',
    }),
    listen: Flags.string({
      description:
        'Address to accept calls on, host:port (worker.listen_addr). By default a free port of loopback for a server on this machine, otherwise port 7424 of the address from which this host reaches the server; an empty value accepts no calls.',
      helpValue: '<address>',
    }),
    advertise: Flags.string({
      description:
        'URL at which the server reaches this worker (worker.advertise_url); defaults to the listen address.',
      helpValue: '<url>',
    }),
    once: Flags.boolean({ description: 'Send one heartbeat and exit.' }),
  };

  async run() {
    const { flags } = await this.parse(Worker);
    if (!flags.once) return runWorker(flags, this.config.version);
    const heartbeat = await runWorkerOnce(flags, this.config.version);
    this.log(line`The control plane knows worker ${heartbeat.worker_id}: ${heartbeat.status}.`);
    return heartbeat;
  }
}
