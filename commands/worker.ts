// svc worker
import { Flags } from '@oclif/core';
import { runWorker, runWorkerOnce } from '../src/app/run-worker.ts';
import { configFlag } from '../src/cli/flags.ts';
import { line } from '../src/cli/print.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

export default class Worker extends SvcCommand<unknown> {
  static override summary = 'Run sandboxes on this host for a control plane elsewhere.';
  static override description =
    'Tells the control plane that it is there, and with --listen starts, ends and watches the sandboxes that the control plane gives it, until SIGTERM or SIGINT. A stop waits for calls in flight; sandboxes live on until their leases end, and the next start takes them over. Leases and lives of sandboxes are kept here too: what is over is ended also when the control plane cannot be reached.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --control-plane https://svc.internal:7423 --listen 10.0.0.5:7424',
    '<%= config.bin %> <%= command.id %> --id edge-1 --control-plane https://svc.internal:7423 --once',
  ];
  static override flags = {
    config: configFlag,
    id: Flags.string({ description: 'Name of this worker (worker.id); else the host name.' }),
    'control-plane': Flags.string({
      description: 'URL of the server it belongs to (worker.control_plane_url).',
      helpValue: '<url>',
    }),
    'worker-token': Flags.string({
      description:
        'Its secret, or a signed token for heartbeats alone. Others on this host can read it here: auth.worker_token_file hides it.',
      helpValue: '<token>',
    }),
    'heartbeat-interval': Flags.string({
      description: 'How often it tells that it is there (worker.heartbeat_interval).',
      helpValue: '<duration>',
    }),
    listen: Flags.string({
      description: 'Address on which it takes calls, host:port (worker.listen_addr).',
      helpValue: '<address>',
    }),
    advertise: Flags.string({
      description: 'Where the server reaches it (worker.advertise_url); else the address it listens on.',
      helpValue: '<url>',
    }),
    once: Flags.boolean({ description: 'Send one heartbeat and exit.' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Worker);
    if (!flags.once) return runWorker(flags, this.config.version);
    const heard = await runWorkerOnce(flags, this.config.version);
    this.log(line`The control plane knows worker ${heard.worker_id}: ${heard.status}.`);
    return heard;
  }
}
