// The files of the code interpreter, as they are installed with the package. Read once, at the first use.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function interpreterFiles(packageRoot: string): () => Record<string, string> {
  const folder = join(packageRoot, 'interpreter');
  let files: Record<string, string> | undefined;
  return () => {
    files ??= Object.fromEntries(
      readdirSync(folder)
        .filter((name) => /\.(py|sh|cjs)$/.test(name))
        .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    );
    return files;
  };
}
