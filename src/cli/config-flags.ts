// Flags of commands that read the configuration: its file, and the database that it or a flag names.
import { Flags } from '@oclif/core';
import { loadProcessConfig } from '../config/process-config.ts';
import { configFlag } from './config-flag.ts';

export const databaseFlags = {
  database: Flags.string({
    description: 'Database file; defaults to database.path of the configuration.',
    helpValue: '<file>',
  }),
  config: configFlag,
};

/** Does not read the configuration when a file is named: these commands must work with a broken configuration. */
export function databaseOf(flags: { database?: string | undefined; config?: string | undefined }): string {
  return flags.database ?? loadProcessConfig({ file: flags.config }).config.database.path;
}
