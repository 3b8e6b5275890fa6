// The compiled schema of the configuration. The build replaces this module by what `compileConfig` compiles to, so that
// no command compiles it, or loads the compiler, at its start (scripts/config-check.js).
import { Ajv, type Options } from 'ajv';
import { Config } from '../schema/config.ts';
import { DESCRIBED } from '../schema/described.ts';

/** Compiles with notes that are for people and for `mismatches`. */
export function compileConfig(options: Options = {}) {
  const ajv = new Ajv({ allErrors: true, strict: true, ...options });
  for (const note of ['secret', 'defaultText', 'duration', DESCRIBED]) ajv.addKeyword(note);
  return { ajv, validate: ajv.compile<Config>(Config) };
}

export default compileConfig().validate;
