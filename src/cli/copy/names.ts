// Names that come out of a sandbox are a stranger's: each is checked before it becomes part of a path on this machine.

const WINDOWS_NAME = /[\\:]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Whether a file of this name lies in its folder and nowhere else. */
export function isPlainName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) return false;
  return platform !== 'win32' || !WINDOWS_NAME.test(name);
}

/** Where `path` lies below `root`, or undefined when it does not. */
export function pathBelow(root: string, path: string, platform?: NodeJS.Platform): string | undefined {
  const prefix = root.endsWith('/') ? root : `${root}/`;
  if (!path.startsWith(prefix)) return undefined;
  const at = path.slice(prefix.length);
  return at.split('/').every((name) => isPlainName(name, platform)) ? at : undefined;
}

/**
 * Whether a link at `at` can lead nowhere but into what is copied. Only leading `..` are taken, as many as it has
 * folders above it: one after a name could climb out through another link.
 */
export function staysInside(at: string, to: string): boolean {
  if (to === '' || to.startsWith('/') || /[\\\0]/.test(to)) return false;
  const parts = to.split('/').filter((part) => part !== '' && part !== '.');
  const up = parts.findIndex((part) => part !== '..');
  const climbs = up < 0 ? parts.length : up;
  return climbs < at.split('/').length && !parts.slice(climbs).includes('..');
}

/** Whether a path as typed means the content of a folder: `dir/.`, `..`. */
export function namesContent(path: string): boolean {
  return /(?:^|\/)\.{1,2}\/?$/.test(path);
}
