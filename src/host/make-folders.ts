// Folders with those above them. Node's own `mkdir` with `recursive` never ends where a file system makes no folders and
// says ENOENT, as /proc does: it keeps a thread, and with it the end of the process.
import { mkdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

type Failure = NodeJS.ErrnoException | undefined;

/** Makes `path` and what is missing above it, with `mode`. What is there stays as it is. Throws what mkdir(2) says. */
export async function makeFolders(path: string, mode = 0o777): Promise<void> {
  const work = steps(path);
  for (let step = work.next(); !step.done; ) {
    const failure = await mkdir(step.value, { mode }).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
    step = work.next(failure);
  }
}

/** The same before there is an event loop to wait on. */
export function makeFoldersSync(path: string, mode = 0o777): void {
  const work = steps(path);
  for (let step = work.next(); !step.done; ) step = work.next(madeSync(step.value, mode));
}

function madeSync(folder: string, mode: number): Failure {
  try {
    mkdirSync(folder, { mode });
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

/** Gives each folder to make and takes what came of it: up to the first that is there or can be made, and down again. */
function* steps(path: string): Generator<string, void, Failure> {
  const missing: string[] = [];
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const failure = yield folder;
    if (!failure || failure.code === 'EEXIST') break;
    if (failure.code !== 'ENOENT' || folder === '/') throw failure;
    missing.push(folder);
  }
  for (const folder of missing.reverse()) {
    const failure = yield folder;
    if (failure && failure.code !== 'EEXIST') throw failure;
  }
}
