// Which templates are there, and which of them go. Guests that were started from one that goes keep it until they end.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MicrovmPlaces } from './places.ts';
import { readTemplate, recordPath, type Template, type TemplateFacts } from './template.ts';

/** The most that are kept: each holds the disk that a guest of its size has touched. */
const MOST = 8;
const MADE_OF = ['image_identity', 'kernel_digest', 'initramfs_digest', 'monitor', 'boot_id'] as const;
const SHARED = ['kernel_digest', 'initramfs_digest', 'monitor', 'boot_id'] as const;

type Places = Pick<MicrovmPlaces, 'templates'>;

export async function wholeTemplates({ templates }: Places): Promise<Template[]> {
  const keys = await readdir(templates).catch(() => []);
  const found = await Promise.all(keys.map((key) => readTemplate(join(templates, key))));
  return found.filter((template) => template !== undefined);
}

/**
 * Removes what is not whole, what `made` takes the place of, what another boot or program saved, and the longest unused;
 * never what is being made.
 */
export async function pruneTemplates(
  places: Places,
  made: Template,
  isMaking: (key: string) => boolean,
): Promise<void> {
  const whole = await wholeTemplates(places);
  const fit = whole.filter(({ record }) => !isOutdated(record.facts, made.record.facts));
  const used = await Promise.all(
    fit.map(async ({ key, folder }) => ({ key, at: (await stat(recordPath(folder))).mtimeMs })),
  );
  const kept = used.sort((a, b) => b.at - a.at).slice(0, MOST);
  for (const key of await readdir(places.templates))
    if (!isMaking(key) && key !== made.key && !kept.some((each) => each.key === key))
      await rm(join(places.templates, key), { recursive: true, force: true });
}

function isOutdated(old: TemplateFacts, now: TemplateFacts): boolean {
  return (old.image === now.image ? MADE_OF : SHARED).some((part) => old[part] !== now[part]);
}
