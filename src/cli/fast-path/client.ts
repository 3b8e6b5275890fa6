// Commands that call a server, bundled with oclif and their dependencies in one file (dist/fast-path/client.cjs), because agents
// and scripts run them in loops. Parsing, help and errors stay those of oclif and the commands.
import { type Command, type Config, execute, Plugin } from '@oclif/core';

type CommandClass = typeof Command & { new (argv: string[], config: Config): Command };
export type CommandTable = Readonly<Record<string, () => Promise<{ default: unknown }>>>;

type PackageJson = ConstructorParameters<typeof Plugin>[0]['pjson'];

/**
 * Runs the command in the arguments of this process. `root` and `pjson` are the package's, `manifest` is what oclif's says of
 * this command, and `commands` is keyed by id.
 */
export async function runClient(
  root: string,
  pjson: NonNullable<PackageJson>,
  manifest: Plugin['manifest'],
  commands: CommandTable,
): Promise<void> {
  // Other plugins have no client commands, and reading each of their folders takes time.
  const plugin = new Plugin({ name: pjson.name, root, pjson, isRoot: true });
  // Private in oclif, which would read and sort all commands for one.
  Object.assign(plugin, { _manifest: async () => manifest });
  await plugin.load();
  for (const command of plugin.commands) {
    const load = commands[command.id];
    if (!load) continue;
    command.load = async () => {
      const found = (await load()).default as CommandClass;
      return Object.assign(found, { id: command.id, plugin });
    };
  }
  await execute({ loadOptions: { root, pjson, plugins: [plugin] } as never });
}
