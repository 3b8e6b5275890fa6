// The configuration of this process: its environment, folder, user and terminal.
import { homedir } from 'node:os';
import type { Config } from '../schema/config.ts';
import { findConfigFile } from './config-file.ts';
import type { Partially } from './flag-layer.ts';
import { type ConfigReading, type LoadedConfig, type LoadRequest, loadConfig, readConfig } from './load.ts';

interface Said {
  file?: string | undefined;
  flags?: Partially<Config>;
}

/** `loadConfig` for this process; `file` is what `--config` says. Throws as it does. */
export function loadConfigHere(said: Said = {}): LoadedConfig {
  return loadConfig(requestHere(said));
}

/** `readConfig` for this process: as far as it can be read. Never throws. */
export function readConfigHere(said: Said = {}): ConfigReading {
  return readConfig(requestHere(said));
}

/** The file that `loadConfigHere` reads when none is named, also one that cannot be used; undefined when there is none. */
export function configFileHere(): string | undefined {
  const home = homedir();
  const outcome = findConfigFile(process.env.SVC_CONFIG || undefined, { cwd: process.cwd(), home });
  const name = 'fault' in outcome ? outcome.name : outcome.found?.name;
  return name?.replace(/^~(?=\/)/, home);
}

function requestHere(said: Said): LoadRequest {
  return {
    ...said,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    uid: process.getuid?.() ?? -1,
    isTerminal: process.stderr.isTTY === true,
  };
}
