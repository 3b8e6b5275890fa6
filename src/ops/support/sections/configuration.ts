// The configuration by the keys of the schema: other keys cannot get in. For secrets only whether they are set.
import { valueAt } from '../../../config/flag-layer.ts';
import { sourceText } from '../../../config/setting.ts';
import { CONFIG_KEYS } from '../../../schema/config-keys.ts';
import type { BundleSources, Section } from '../sources.ts';
import { always } from '../sources.ts';

export const CONFIGURATION: Section = {
  id: 'configuration',
  title: 'The effective configuration by key, without secrets',
  skipped: always,
  collect: async ({ reading }) => ({
    file: reading.files[0]?.name ?? null,
    files: reading.files.map(({ name }) => name),
    problems: [...reading.unusable, ...reading.secretFiles, ...reading.contradictions].map(
      ({ message }) => message,
    ),
    // A list: as names of an object, keys of secrets would be taken for the secrets.
    settings: CONFIG_KEYS.map(({ path, secret }) => settingOf(reading, path, secret)),
  }),
};

function settingOf({ config, sources }: BundleSources['reading'], path: string, secret: boolean): object {
  const value = valueAt(config, path);
  const source = sourceText(sources.get(path) ?? { layer: 'default' });
  if (secret) return { name: path, source, set: value !== undefined };
  return { name: path, source, value: value ?? null };
}
