// What of a view the launcher mounts beforehand, so that bubblewrap binds one folder in place of many parts.
import { expect, it } from 'vitest';
import type { RootfsView } from '../../../../src/providers/userspace/rootfs-view.ts';
import { stagedView } from '../../../../src/providers/userspace/staged-view.ts';

const bind = (target: string, source = target) => ({ target, source });
const view: RootfsView = {
  folders: ['/run'],
  links: [],
  binds: [
    bind('/usr'),
    bind('/etc', '/run/svc/abc/etc'),
    bind('/etc/localtime', '/usr/share/zoneinfo/UTC'),
    bind('/etc/ssl/certs'),
    bind('/etcetera'),
  ],
};

it('stages a folder before what is mounted in it, and binds the folder alone', () => {
  const { view: seen, staged } = stagedView(view, '/run/svc/abc/stage');
  expect(seen).toEqual({
    ...view,
    binds: [bind('/usr'), bind('/etc', '/run/svc/abc/stage/etc'), bind('/etcetera')],
  });
  expect(Object.entries(staged)).toEqual([
    ['etc', '/run/svc/abc/etc'],
    ['etc/localtime', '/usr/share/zoneinfo/UTC'],
    ['etc/ssl/certs', '/etc/ssl/certs'],
  ]);
});

it('leaves a view whose binds lie beside each other', () => {
  const flat = { ...view, binds: [bind('/bin'), bind('/etc'), bind('/etcetera')] };
  expect(stagedView(flat, '/run/svc/abc/stage')).toEqual({ view: flat, staged: {} });
});
