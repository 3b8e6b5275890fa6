// The full argument list of bubblewrap. A change here is a change of the isolation: it must be meant.
import { expect, it } from 'vitest';
import { bwrapArguments } from '../../../../src/providers/userspace/bwrap.ts';
import { blueprint } from './blueprint.ts';

const NAMESPACES = '--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try';
const IDENTITY = '--disable-userns --uid 1000 --gid 1000 --hostname sb-aaaaaaaaaaaa';
const VIEW = [
  '--dir /run --dir /var --symlink ../tmp /var/tmp --symlink usr/bin /bin',
  '--ro-bind /usr /usr --ro-bind /run/svc/abc/etc /etc',
  '--ro-bind /run/svc/abc/stage/svc-agent /.svc/svc-agent',
  '--proc /proc --dev /dev --perms 1777 --size 64 --tmpfs /dev/shm --remount-ro /dev',
  '--perms 1777 --size 128 --tmpfs /tmp',
].join(' ');
const END = '--remount-ro / --chdir /workspace -- /.svc/svc-agent init sb-aaaaaaaaaaaa.3';

it('isolates the network and keeps the workspace in memory', () => {
  expect(bwrapArguments(blueprint).join(' ')).toBe(
    `${NAMESPACES} --unshare-net ${IDENTITY} --as-pid-1 --clearenv --cap-drop ALL ${VIEW} ` +
      `--perms 1777 --size 256 --tmpfs /workspace ${END}`,
  );
});

it('uses the terminals that the launcher bounds', () => {
  const words = bwrapArguments({ ...blueprint, terminals: '/run/svc/abc/x/pts' }).join(' ');
  expect(words).toContain('--dev /dev --dev-bind /run/svc/abc/x/pts /dev/pts --perms');
});

it("uses the host's network and a workspace on disk", () => {
  expect(bwrapArguments({ ...blueprint, network: 'host', workspace: '/data/ws' }).join(' ')).toBe(
    `${NAMESPACES} ${IDENTITY} --as-pid-1 --clearenv --cap-drop ALL ${VIEW} --bind /data/ws /workspace ${END}`,
  );
});

it('creates no user namespace and no shared writable folder for a pool', () => {
  expect(bwrapArguments({ ...blueprint, isPool: true }).join(' ')).toBe(
    [
      '--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net --hostname sb-aaaaaaaaaaaa',
      '--as-pid-1 --clearenv --cap-drop ALL --cap-add CAP_SYS_ADMIN --cap-add CAP_SETUID --cap-add CAP_SETGID',
      VIEW.split(' --perms')[0],
      '--remount-ro /dev --dir /tmp --dir /workspaces',
      END.replace('/workspace', '/'),
    ].join(' '),
  );
});
