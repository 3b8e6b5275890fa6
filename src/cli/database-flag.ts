// Which database a command means: the one that is named, else that of the configuration.
import { Flags } from '@oclif/core';
import { loadProcessConfig } from '../config/process-config.ts';
import { configFlag } from './flags.ts';

export const databaseFlags = {
  database: Flags.string({
    description: 'Database file; else database.path of the configuration.',
    helpValue: '<file>',
  }),
  config: configFlag,
};

/** Reads no configuration when the file is named: an operator's commands work when the configuration does not. */
export function databaseOf(flags: { database?: string | undefined; config?: string | undefined }): string {
  return flags.database ?? loadProcessConfig({ file: flags.config }).config.database.path;
}
