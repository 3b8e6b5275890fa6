// The configuration of this process: its environment, folder, user and terminal.
import { homedir } from 'node:os';
import type { Config } from '../schema/config.ts';
import { findConfigFiles, givenPath } from './config-file.ts';
import type { Partially } from './flag-layer.ts';
import { type ConfigReading, type LoadedConfig, type LoadRequest, loadConfig, readConfig } from './load.ts';

export interface ConfigOptions {
  file?: string | undefined;
  flags?: Partially<Config>;
}

/** `loadConfig` for this process; `file` is what `--config` says. Throws as it does. */
export function loadProcessConfig(options: ConfigOptions = {}): LoadedConfig {
  return loadConfig(requestHere(options));
}

/** `readConfig` for this process: as far as it can be read. Never throws. */
export function readProcessConfig(options: ConfigOptions = {}): ConfigReading {
  return readConfig(requestHere(options));
}

/**
 * Paths of the files that count here when none is named, strongest first, also those that cannot be used; none where
 * there are none.
 */
export function processConfigFiles(): string[] {
  return findConfigFiles([], { cwd: process.cwd(), home: homedir() }).map(givenPath);
}

function requestHere(options: ConfigOptions): LoadRequest {
  return {
    ...options,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    uid: process.getuid?.() ?? -1,
    isTerminal: process.stderr.isTTY === true,
  };
}
