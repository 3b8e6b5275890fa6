// The baseline: the same command by the raw runner, started from Node, building the same root for that one command.
// Written apart from the provider on purpose: a baseline that shares its code shares its slowness.
import { spawn } from 'node:child_process';

export type Runner = 'bwrap' | 'unshare';

/** Any uid that is not root's and owns nothing here; our own sandboxes drop to one as well. */
const BENCH_UID = 1_879_048_000;

const READ_ONLY = [
  '/usr',
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/ssl/certs',
  '/etc/localtime',
];
const LINKS = ['bin', 'sbin', 'lib', 'lib64'];

/** Runs `sh -c command` in a fresh root; ms until its output is complete. Rejects when it fails. */
export function rawRun(runner: Runner, command: string): Promise<number> {
  const [file, args] = runner === 'bwrap' ? ['bwrap', bwrapArgs(command)] : ['unshare', unshareArgs(command)];
  const drop = process.getuid?.() === 0 ? { uid: BENCH_UID, gid: BENCH_UID } : {};
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(file, args, {
      env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...drop,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => {
        output += data.toString();
      });
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(performance.now() - started);
      else reject(new Error(`${file} ended with ${code}: ${output}`));
    });
  });
}

function bwrapArgs(command: string): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-net',
    '--unshare-cgroup-try',
    '--disable-userns',
    '--cap-drop',
    'ALL',
    '--clearenv',
    '--setenv',
    'PATH',
    '/usr/bin:/bin',
    '--new-session',
    ...READ_ONLY.flatMap((path) => ['--ro-bind-try', path, path]),
    ...LINKS.flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    '--tmpfs',
    '/workspace',
    '--chdir',
    '/workspace',
    '--',
    'sh',
    '-c',
    command,
  ];
}

function unshareArgs(command: string): string[] {
  const binds = READ_ONLY.map((path) => `if [ -e ${path} ]; then ${bind(path)}; fi`);
  const script = [
    'set -e',
    'mount -t tmpfs tmpfs /tmp && cd /tmp && mkdir -p usr etc proc dev tmp workspace old',
    ...binds,
    ...LINKS.map((name) => `ln -s usr/${name} ${name}`),
    'mount -t proc proc proc && mount -t tmpfs tmpfs dev',
    'for d in null zero full random urandom tty; do : > dev/$d; mount --bind /dev/$d dev/$d; done',
    'mkdir dev/pts dev/shm && mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts && mount -t tmpfs tmpfs dev/shm',
    'mount -t tmpfs tmpfs tmp && mount -t tmpfs tmpfs workspace',
    'pivot_root . old && umount -l /old && cd /workspace',
    'exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs sh -c "$1"',
  ].join('\n');
  const namespaces = [
    '--user',
    '--map-root-user',
    '--mount',
    '--pid',
    '--fork',
    '--ipc',
    '--uts',
    '--net',
    '--cgroup',
  ];
  return [...namespaces, 'sh', '-c', script, 'sh', command];
}

function bind(path: string): string {
  const target = path.slice(1);
  return `if [ -d ${path} ]; then mkdir -p ${target}; else mkdir -p $(dirname ${target}); : > ${target}; fi; mount --rbind -o ro ${path} ${target}`;
}
