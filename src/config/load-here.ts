// The configuration of this process: its environment, folder, user and terminal.
import { homedir } from 'node:os';
import type { Config } from '../schema/config.ts';
import type { Partially } from './flag-layer.ts';
import { type LoadedConfig, loadConfig } from './load.ts';

/** `loadConfig` for this process; `file` is what `--config` says. Throws as it does. */
export function loadConfigHere(
  said: { file?: string | undefined; flags?: Partially<Config> } = {},
): LoadedConfig {
  return loadConfig({
    ...said,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    uid: process.getuid?.() ?? -1,
    isTerminal: process.stderr.isTTY === true,
  });
}
