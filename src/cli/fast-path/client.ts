// Commands that ask a server, with oclif and what they need in one file that is read at once (dist/fast-path/client.cjs): agents
// and scripts run them in loops. Parsing, help and failures are oclif's and the commands' own.
import { type Command, type Config, execute, Plugin } from '@oclif/core';

type CommandClass = typeof Command & { new (argv: string[], config: Config): Command };
export type CommandTable = Readonly<Record<string, () => Promise<{ default: unknown }>>>;

type PackageJson = ConstructorParameters<typeof Plugin>[0]['pjson'];

/** Runs the command that the arguments of this process name; `commands` by id, `root` and `pjson` of the package. */
export async function runClient(
  root: string,
  pjson: NonNullable<PackageJson>,
  commands: CommandTable,
): Promise<void> {
  // Other plugins bring commands that are not of the client, and each is a folder to search for and read.
  const plugin = new Plugin({ name: pjson.name, root, pjson, isRoot: true });
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
