// Tells whether a file is the one it was, without reading it.
import { stat } from 'node:fs/promises';

/** Changes whenever the file does; undefined when there is no file. */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const facts = await stat(path).catch(() => undefined);
  if (!facts?.isFile()) return undefined;
  return [path, facts.dev, facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(' ');
}
