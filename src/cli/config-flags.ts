// Flags of commands that read the configuration: its file, and the database that it or a flag names.
import { Flags } from '@oclif/core';
import { loadProcessConfig } from '../config/process-config.ts';
import { configFlag } from './config-flag.ts';
import { type DatabasePlace, PLACE_HELP, placeOf } from './database-place.ts';
import { type FileCommand, isDatabaseUrl, refusedUrl } from './postgres-tools.ts';

export const databaseFlags = {
  database: Flags.string({
    description: 'Database file; defaults to database.path of the configuration.',
    helpValue: '<file>',
  }),
  config: configFlag,
};

/** For commands that also work on PostgreSQL. */
export const placeFlags = {
  database: Flags.string({
    description:
      'Database: a file, a PostgreSQL URL, or @ and a file with the URL; defaults to that of the configuration.',
    helpValue: PLACE_HELP,
  }),
  config: configFlag,
};

/**
 * The database file for `command`. Does not read the configuration when a file is named: these commands must work with a
 * broken configuration. Throws `bad_request` if the database is PostgreSQL.
 */
export function databaseOf(
  flags: { database?: string | undefined; config?: string | undefined },
  command: FileCommand,
): string {
  if (flags.database !== undefined) return fileOf(flags.database, command);
  const { path, url } = loadProcessConfig({ file: flags.config }).config.database;
  return url === undefined ? path : fileOf(url, command);
}

/** The database that a flag names, otherwise that of the configuration: a file or a PostgreSQL URL. */
export function placeFlag(flags: {
  database?: string | undefined;
  config?: string | undefined;
}): DatabasePlace {
  if (flags.database !== undefined) return placeOf(flags.database);
  const { path, url } = loadProcessConfig({ file: flags.config }).config.database;
  return url === undefined ? { kind: 'file', path } : { kind: 'url', url };
}

/** `name`, unless it is the URL of a PostgreSQL database. */
export function fileOf(name: string, command: FileCommand): string {
  if (isDatabaseUrl(name)) throw refusedUrl(command, name);
  return name;
}
