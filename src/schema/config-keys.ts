// Every key of the configuration as a flat list: the loader, `config explain`, the documents and redaction all work from
// it, so that a key is written down once, in schema/config.ts.
import { Config } from './config.ts';
import { type ConfigKey, type ConfigSection, walkSchema } from './config-walk.ts';

export const SECRET_FILE_SUFFIX = '_file';

const found = walkSchema(Config);

/** In schema order. */
export const CONFIG_KEYS: readonly ConfigKey[] = found.keys;
/** In schema order; a section stands before its keys. */
export const CONFIG_SECTIONS: readonly ConfigSection[] = found.sections;
/** Paths whose values are masked wherever configuration is shown. */
export const SECRET_PATHS: readonly string[] = CONFIG_KEYS.filter(({ secret }) => secret).map(
  ({ path }) => path,
);
