// Descriptors that this process was started with and does not know of. Node keeps the lowest ones from its children, but
// not those behind a gap, and some of our children outlive us.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;
const FIRST = 3;

/**
 * Closes every descriptor but the standard ones that a child would inherit. All that Node and our libraries open are
 * closed on exec (open(2)), so what is left is somebody else's. For processes that stay: another one may have been given
 * a file by its descriptor's name. Never throws.
 */
export function closeInherited(): void {
  for (const fd of numbers()) {
    try {
      if (fd >= FIRST && isInherited(fd)) closeSync(fd);
    } catch {
      // Closed meanwhile: the listing had one of its own.
    }
  }
}

function numbers(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return [];
  }
}

/** proc(5): the flags are octal. */
function isInherited(fd: number): boolean {
  const [, flags] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}
