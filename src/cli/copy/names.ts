// Checks names that come out of a sandbox, which are untrusted, before they become part of a local path.

const WINDOWS_NAME = /[\\:]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Whether a file of this name stays in its folder. */
export function isPlainName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) return false;
  return platform !== 'win32' || !WINDOWS_NAME.test(name);
}

/** The part of `path` below `root`, or undefined if it is elsewhere. */
export function pathBelow(root: string, path: string, platform?: NodeJS.Platform): string | undefined {
  const prefix = root.endsWith('/') ? root : `${root}/`;
  if (!path.startsWith(prefix)) return undefined;
  const at = path.slice(prefix.length);
  return at.split('/').every((name) => isPlainName(name, platform)) ? at : undefined;
}

/**
 * Whether a link at `at` stays within the copy. Allows only leading `..`, at most as many as it has folders above it: one after
 * a name could climb out through another link.
 */
export function staysInside(at: string, to: string): boolean {
  if (to === '' || to.startsWith('/') || /[\\\0]/.test(to)) return false;
  const parts = to.split('/').filter((part) => part !== '' && part !== '.');
  const up = parts.findIndex((part) => part !== '..');
  const climbs = up < 0 ? parts.length : up;
  return climbs < at.split('/').length && !parts.slice(climbs).includes('..');
}

/** Whether a typed path means the content of a folder: `dir/.`, `..`. */
export function namesContent(path: string): boolean {
  return /(?:^|\/)\.{1,2}\/?$/.test(path);
}
