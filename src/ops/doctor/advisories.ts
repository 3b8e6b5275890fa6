// Known holes in programs that sandboxes depend on, as of the date here. A table in the package, not a service: it is
// small, and says so when it grows old only by its date.

export const ADVISORIES_DATE = '2026-11-01';

export interface Advisory {
  program: string;
  /** Oldest first: versions below are affected, within the branch of two numbers that it belongs to. */
  fixed: readonly string[];
  what: string;
  /** A guest gets out by it. */
  letsOut: boolean;
  /** Where it was published. */
  source: string;
}

export const ADVISORIES: readonly Advisory[] = [
  {
    program: 'runc',
    fixed: ['1.1.12'],
    what: 'CVE-2024-21626: a container can access the host file system through a leaked file descriptor.',
    letsOut: true,
    source: 'https://github.com/opencontainers/runc/security/advisories/GHSA-xr7r-f8xq-vfvv',
  },
  {
    program: 'runc',
    fixed: ['1.2.8', '1.3.3'],
    what: 'CVE-2025-31133, CVE-2025-52565, CVE-2025-52881: a container can write to host files through mount races.',
    letsOut: true,
    source: 'https://www.openwall.com/lists/oss-security/2025/11/05/3',
  },
  {
    program: 'containerd',
    fixed: ['1.7.29', '2.0.7', '2.1.5'],
    what: 'CVE-2024-25621: local users can access the data of containerd.',
    letsOut: false,
    source: 'https://nvd.nist.gov/vuln/detail/CVE-2024-25621',
  },
  {
    program: 'dockerd',
    fixed: ['23.0.11', '25.0.5', '26.0.0'],
    what: 'CVE-2024-29018: a container in an internal network can send DNS queries to external resolvers.',
    letsOut: false,
    source: 'https://github.com/moby/moby/security/advisories/GHSA-mq39-4gv4-mvpx',
  },
  {
    program: 'bwrap',
    fixed: ['0.4.1'],
    what: 'CVE-2020-5291: if bwrap is setuid, local users can become root.',
    letsOut: false,
    source: 'https://github.com/containers/bubblewrap/security/advisories/GHSA-j2qp-rvxj-43vj',
  },
  {
    program: 'slirp4netns',
    fixed: ['0.4.0'],
    what: 'CVE-2019-14378, CVE-2019-15890: a sandbox can overwrite memory of the program that connects for it.',
    letsOut: true,
    source: 'https://github.com/rootless-containers/slirp4netns/security/advisories/GHSA-gjwp-vf65-3jqf',
  },
  {
    program: 'libslirp',
    fixed: ['4.3.0'],
    what: 'CVE-2020-1983: a sandbox can make the program that connects for it use freed memory.',
    letsOut: false,
    source: 'https://github.com/rootless-containers/slirp4netns/security/advisories/GHSA-43x4-h9r2-cv5r',
  },
  {
    program: 'libslirp',
    fixed: ['4.6.0'],
    what: 'CVE-2021-3592, CVE-2021-3593, CVE-2021-3594, CVE-2021-3595: a sandbox can read memory of the program that connects for it.',
    letsOut: false,
    source: 'https://gitlab.freedesktop.org/slirp/libslirp/-/blob/v4.6.0/CHANGELOG.md',
  },
  {
    program: 'libslirp',
    fixed: ['4.9.2'],
    what: 'CVE-2026-9539: who can send raw packets, which programs in userspace sandboxes cannot, can read memory of the program that connects.',
    letsOut: false,
    source: 'https://gitlab.freedesktop.org/slirp/libslirp/-/blob/v4.9.2/CHANGELOG.md',
  },
];

/** What is known against `version` of `program`. */
export function advisoriesFor(program: string, version: string): readonly Advisory[] {
  return ADVISORIES.filter((each) => each.program === program && isAffected(version, each.fixed));
}

/** A branch that is fixed counts by its own fix, any other by the last. */
function isAffected(version: string, fixed: readonly string[]): boolean {
  const branch = fixed.find((each) => branchOf(each) === branchOf(version));
  return isOlder(version, branch ?? fixed.at(-1) ?? '0');
}

const branchOf = (version: string) => version.split('.').slice(0, 2).join('.');

/** Compares the numbers; a suffix such as -rc1 is ignored. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(than)];
  const at = [0, 1, 2].find((place) => (a[place] ?? 0) !== (b[place] ?? 0));
  return at !== undefined && (a[at] ?? 0) < (b[at] ?? 0);
}

const numbersOf = (version: string) => (/\d+(?:\.\d+){0,2}/.exec(version)?.[0] ?? '0').split('.').map(Number);
