// Other versions of Node, from the npm package `node`, with the headers that native packages are built against.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface OtherNode {
  executable: string;
  /** Environment under which npm runs on it and builds for it. */
  env: NodeJS.ProcessEnv;
}

/** Installs the newest Node of `major` under `folder`. */
export async function otherNode(major: number, folder: string): Promise<OtherNode> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, allowScripts: { node: true } }),
  );
  const npm = ['install', '--no-audit', '--no-fund', '--loglevel=error', `node@${major}`];
  await run('npm', npm, { cwd: folder, env: quiet(process.env), timeout: 300_000 });
  const node = join(folder, 'node_modules/node');
  const headers = join(node, `node_modules/node-linux-${process.arch}`);
  return {
    executable: join(node, 'bin/node'),
    env: quiet({
      ...process.env,
      PATH: `${join(node, 'bin')}:${process.env.PATH}`,
      npm_config_nodedir: headers,
    }),
  };
}

/** Without what an npm that runs these tests hands to its children. */
function quiet(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(env).filter(([name]) => !/^npm_(?!config_nodedir)/i.test(name));
  return { ...Object.fromEntries(own), npm_config_update_notifier: 'false' };
}
