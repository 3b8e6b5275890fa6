// Opens a link in the user's browser, with the opener of the desktop. Does not wait for it to end.
import { spawn } from 'node:child_process';
import { ServiceError } from '../domain/errors.ts';

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', linux: 'xdg-open' };

/** Resolves when the opener is running. Throws `unavailable` without one, and `bad_request` for a link that is not http or https. */
export async function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  const { protocol } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ServiceError('bad_request', 'The link is not an http or https link.');
  const opener = OPENERS[platform];
  if (opener === undefined) throw noOpener();
  // Without a shell, so that the server's answer is only an argument.
  const child = spawn(opener, [url], { detached: true, stdio: 'ignore' });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve).once('error', (cause) => reject(noOpener(cause)));
  });
  child.unref();
}

function noOpener(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'No program to open links was found.', {
    remedy: 'Open the printed link yourself.',
    ...(cause !== undefined && { cause }),
  });
}
