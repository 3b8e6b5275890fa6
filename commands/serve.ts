// svc serve
import { Flags } from '@oclif/core';
import { runServer } from '../src/app/run-server.ts';
import { configFlag } from '../src/cli/flags.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

export default class Serve extends SvcCommand<void> {
  static override enableJsonFlag = false;
  static override summary = 'Start the API server.';
  static override description =
    'Serves the HTTP API until SIGTERM or SIGINT; a stop waits for calls in flight. Sandboxes live on: the next start finds them. SIGHUP reads the configuration again: keys, origins, rate limits, the caps of sandboxes and execs and the log level hold from then on, the log names what waits for a restart; on a terminal it stops the server. A service manager of Type=notify is told of readiness, and every half of its watchdog time that the server lives.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --port 8080 --provider userspace',
    '<%= config.bin %> <%= command.id %> --config /etc/svc/svc.yaml',
  ];
  static override flags = {
    config: configFlag,
    host: Flags.string({ description: 'Address to listen on (server.host).' }),
    port: Flags.integer({ description: 'Port to listen on (server.port).', min: 0, max: 65_535 }),
    provider: Flags.string({ description: 'Provider of a spawn that names none (providers.default).' }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Serve);
    await runServer(flags, this.config.version);
  }
}
