// What names of images and addresses of engines in a configuration say.
import { imagePolicy } from '../../providers/container/image-policy.ts';

/** The host in the address of an engine, as it is written. */
export const hostOf = (address: string) => /^(?:\w+:\/\/)?(\[[^\]]*\]|[^:/]*)/.exec(address)?.[1] ?? '';

export function isRefused(image: string, allowed: readonly string[]): boolean {
  try {
    imagePolicy(allowed)(image);
    return false;
  } catch {
    return true;
  }
}

/** The tag that says nothing about what is in it, or undefined. */
export function floatingTag(image: string): string | undefined {
  if (image.includes('@')) return undefined;
  const tag = /:([^/:]+)$/.exec(image)?.[1] ?? 'latest';
  return /^(?:latest|stable|edge|main|master|nightly|dev|current|lts|rolling|testing|unstable)$/i.test(tag)
    ? tag
    : undefined;
}
