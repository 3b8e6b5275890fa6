// Known holes in programs that sandboxes depend on, as of the date here. A table in the package, not a service: it is
// small, and says so when it grows old only by its date.

export const ADVISORIES_DATE = '2026-11-01';

export interface Advisory {
  program: string;
  /** Versions below are affected, within the branch that it begins. */
  fixed: readonly string[];
  what: string;
}

export const ADVISORIES: readonly Advisory[] = [
  {
    program: 'runc',
    fixed: ['1.1.12'],
    what: 'CVE-2024-21626: a container can reach the file system of the host through a leaked descriptor.',
  },
  {
    program: 'runc',
    fixed: ['1.2.8', '1.3.3'],
    what: 'CVE-2025-31133, CVE-2025-52565, CVE-2025-52881: a container can write to files of the host through races of mounts.',
  },
];

/** What is known against `version` of `program`. */
export function advisoriesFor(program: string, version: string): string[] {
  return ADVISORIES.filter((each) => each.program === program && isAffected(version, each.fixed)).map(
    ({ what }) => what,
  );
}

/** A branch that is fixed counts by its own fix, any other by the first. */
function isAffected(version: string, fixed: readonly string[]): boolean {
  const branch = fixed.find((each) => branchOf(each) === branchOf(version));
  return isOlder(version, branch ?? fixed[0] ?? '0');
}

const branchOf = (version: string) => version.split('.').slice(0, 2).join('.');

/** By their numbers; what follows them, such as -rc1, is not looked at. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(than)];
  const at = [0, 1, 2].find((place) => (a[place] ?? 0) !== (b[place] ?? 0));
  return at !== undefined && (a[at] ?? 0) < (b[at] ?? 0);
}

const numbersOf = (version: string) => (/\d+(?:\.\d+){0,2}/.exec(version)?.[0] ?? '0').split('.').map(Number);
