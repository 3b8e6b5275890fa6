// Opens a link in the user's browser. The program that does it is the desktop's; what becomes of it is not waited for.
import { spawn } from 'node:child_process';
import { ServiceError } from '../domain/errors.ts';

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', linux: 'xdg-open' };

/** Resolves when the program runs. Throws `unavailable` where there is none. Only links of http and https are opened. */
export async function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  const { protocol } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ServiceError('bad_request', 'The link is none for a browser.');
  const opener = OPENERS[platform];
  if (opener === undefined) throw noOpener();
  // Without a shell: what the server answered is one argument and nothing else.
  const child = spawn(opener, [url], { detached: true, stdio: 'ignore' });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve).once('error', (cause) => reject(noOpener(cause)));
  });
  child.unref();
}

function noOpener(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'No program opens links here.', {
    remedy: 'Open the link that was printed by hand.',
    ...(cause !== undefined && { cause }),
  });
}
