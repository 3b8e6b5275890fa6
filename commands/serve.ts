// svc serve
import { Flags } from '@oclif/core';
import { runServer } from '../src/app/run-server.ts';
import { configFlag } from '../src/cli/config-flag.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

export default class Serve extends SvcCommand {
  static override enableJsonFlag = false;
  static override summary = 'Start the API server.';
  static override description =
    'Serves the HTTP API until SIGTERM or SIGINT. A stop waits for calls in flight. Sandboxes keep running, and the next start finds them. SIGHUP reloads the configuration: API keys, origins, rate limits, sandbox and exec limits and the log level change at once; the log names the keys that need a restart. On a terminal, SIGHUP stops the server. The server notifies a service manager (Type=notify) when it is ready and pings its watchdog.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --port 8080 --provider userspace',
    '<%= config.bin %> <%= command.id %> --config /etc/svc/svc.yaml',
  ];
  static override flags = {
    config: configFlag,
    host: Flags.string({ description: 'Address to listen on (server.host).' }),
    port: Flags.integer({ description: 'Port to listen on (server.port).', min: 0, max: 65_535 }),
    provider: Flags.string({ description: 'Provider for spawns that do not name one (providers.default).' }),
  };

  async run() {
    const { flags } = await this.parse(Serve);
    await runServer(flags, this.config.version);
  }
}
