// /etc of the host view: a few own files, and empty mount points for parts of the host's. Created once for each instance; a
// sandbox sees it read-only.
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { makeFolders } from '../../host/make-folders.ts';
import type { InstanceFolders } from '../local/instance-folders.ts';
import { INSIDE_GID, INSIDE_UID } from '../local/uid-slots.ts';

/** For programs that call sudo: there is one user, who stays as it is. An unknown one is refused. */
const SUDO = `#!/bin/sh
shell=
as() {
  case $1 in
    root | user | sandbox | '#0') ;;
    *) echo "sudo: unknown user $1: this sandbox has one user" >&2; exit 1 ;;
  esac
}
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; break ;;
    -u | --user) as "\${2-}"; shift; shift ;;
    --user=*) as "\${1#--user=}"; shift ;;
    -[CDghpRrTtU]) shift; [ $# -eq 0 ] || shift ;;
    -i | -s | --login | --shell) shell=\${SHELL:-/bin/sh}; shift ;;
    -*) shift ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then exec \${shell:-true}; fi
if [ -n "$shell" ]; then exec "$shell" -c "$*"; fi
exec env "$@"
`;
/** For hosts without it: programs for E2B mark files by extended attributes. */
const SETFATTR = `#!/bin/sh
exec python3 -c '
import base64, getopt, os, sys
try:
    options, paths = getopt.gnu_getopt(sys.argv[1:], "n:v:x:h", ["name=", "value=", "remove=", "no-dereference"])
except getopt.GetoptError as problem:
    sys.exit("setfattr: " + str(problem))
given = {"--name": "-n", "--value": "-v", "--remove": "-x", "--no-dereference": "-h"}
given = {given.get(name, name): value for name, value in options}
if not paths or ("-n" in given) == ("-x" in given):
    sys.exit("Usage: setfattr {-n name [-v value] | -x name} [-h] file...")
follow = "-h" not in given
value = given.get("-v", "")
if value[:2].lower() == "0x":
    value = bytes.fromhex(value[2:])
elif value[:2].lower() == "0s":
    value = base64.b64decode(value[2:])
else:
    value = os.fsencode(value)
failed = 0
for path in paths:
    try:
        if "-x" in given:
            os.removexattr(path, given["-x"], follow_symlinks=follow)
        else:
            os.setxattr(path, given["-n"], value, follow_symlinks=follow)
    except OSError as problem:
        print(f"setfattr: {path}: {problem.strerror}", file=sys.stderr)
        failed = 1
sys.exit(failed)
' "$@"
`;
const SUDO_PATH = 'svc/bin/sudo';
const PYTHON_PATH = 'svc/late/python';
const SETFATTR_PATH = 'svc/late/setfattr';
const PROGRAMS = [SUDO_PATH, PYTHON_PATH, SETFATTR_PATH];

/** resolv.conf where a transparent gate answers (agent/src/net/gate-space.h). */
const GATE_RESOLVER = 'resolv.conf.gate';
const FILES: Record<string, string> = {
  passwd: [
    'root:x:0:0:root:/root:/usr/sbin/nologin',
    // Programs for E2B know the user by this name (docs/e2b.md).
    `user:x:${INSIDE_UID}:${INSIDE_GID}:user:/home/user:/bin/bash`,
    `sandbox:x:${INSIDE_UID}:${INSIDE_GID}:sandbox:/workspace:/bin/sh`,
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    '',
  ].join('\n'),
  group: `root:x:0:\ntty:x:5:\nuser:x:${INSIDE_GID}:\nsandbox:x:${INSIDE_GID}:\nnogroup:x:65534:\n`,
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
  'nsswitch.conf':
    'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  'resolv.conf': '',
  [GATE_RESOLVER]: 'nameserver 198.18.0.1\noptions timeout:2 attempts:2\n',
  'ld.so.cache': '',
  'ld.so.conf': '',
  localtime: '',
  // Debian's matplotlib does not start without it.
  matplotlibrc: '',
  'machine-id': '',
  'ssl/openssl.cnf': '',
  // Only login shells, as programs for E2B use them, find sudo.
  profile: 'PATH="/etc/svc/bin:$PATH:/etc/svc/late"\n',
  [SUDO_PATH]: SUDO,
  // For hosts that have it under its full name only.
  [PYTHON_PATH]: '#!/bin/sh\nexec python3 "$@"\n',
  [SETFATTR_PATH]: SETFATTR,
};
/** Where a host describes itself: programs read the first; the second is in the sandbox with /usr. */
const RELEASES = ['/etc/os-release', '/usr/lib/os-release'];
const MOST_RELEASE = 16 * 1024;

const FOLDERS = ['alternatives', 'ssl/certs', 'ld.so.conf.d', 'svc/bin', 'svc/late'];

/** Parts of the host's /etc that programs need and that hold no secret; `resolv.conf` only with the host's network. */
const HOST_PARTS = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/localtime',
  '/etc/matplotlibrc',
];

/** The file of `makeEtc` that is the resolv.conf of sandboxes with a transparent gate. */
export const resolverPath = ({ instance }: Pick<InstanceFolders, 'instance'>) =>
  join(instance, 'etc', GATE_RESOLVER);

/** Java of Debian has its settings there. */
const JAVA = /^java-\d+-openjdk$/;

/** `HOST_PARTS` and those that only some hosts have, as far as the folder of `makeEtc` holds them. */
export async function hostParts(folder: string): Promise<string[]> {
  const java = (await readdir(folder).catch(() => [])).filter((name) => JAVA.test(name));
  return [...HOST_PARTS, ...java.map((name) => `/etc/${name}`)];
}

/**
 * Writes the folder. Idempotent. Replaces files atomically, so that a running sandbox never sees half of one, and leaves files that
 * are right: the kernel detaches what a sandbox has mounted over a file when that file is replaced (`d_invalidate`).
 */
export async function makeEtc(folder: string): Promise<void> {
  try {
    const java = (await readdir('/etc')).filter((name) => JAVA.test(name));
    for (const name of [...FOLDERS, ...java]) await makeFolders(join(folder, name), 0o755);
    const files = { ...FILES, 'os-release': osRelease(await hostRelease()) };
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      if ((await readFile(path, 'utf8').catch(() => undefined)) === text) continue;
      await writeFile(`${path}.new`, text, { mode: PROGRAMS.includes(name) ? 0o755 : 0o644 });
      await rename(`${path}.new`, path);
    }
  } catch (cause) {
    throw new ServiceError('provider_error', 'Could not write /etc of the sandboxes.', { cause });
  }
}

async function hostRelease(): Promise<string> {
  for (const path of RELEASES) {
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text !== '') return text.slice(0, MOST_RELEASE);
  }
  return '';
}

/** os-release of a sandbox: it runs the programs of `host`, whose os-release this is, so ID and version stay. */
export function osRelease(host: string): string {
  const lines = host.split('\n').filter((line) => /^[A-Z][A-Z0-9_]*=/.test(line));
  const name = lines.find((line) => line.startsWith('PRETTY_NAME='))?.replace(/^[^=]*=["']?|["']$/g, '');
  const kept = lines.filter((line) => !/^(?:PRETTY_NAME|VARIANT|VARIANT_ID)=/.test(line));
  return [
    `PRETTY_NAME="${name === undefined ? '' : `${name}, in an `}svc sandbox"`,
    ...(kept.some((line) => line.startsWith('NAME=')) ? [] : ['NAME="Linux"']),
    ...(kept.some((line) => line.startsWith('ID=')) ? [] : ['ID=linux']),
    ...kept,
    'VARIANT="svc sandbox on the programs of its host"',
    'VARIANT_ID=svc-sandbox',
    '',
  ].join('\n');
}
