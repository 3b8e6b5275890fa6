// What is left of texts and settings when places on the host are taken out of them.
import { expect, it } from 'vitest';
import { withoutHostPaths, withoutPathValues } from '../../../src/domain/host-paths.ts';

it.each([
  ['unix:/var/run/docker.sock: It cannot be reached.', '(path): It cannot be reached.'],
  ['unix:///run/x.sock: gone', '(path): gone'],
  [
    'There is no kernel at /opt/svc/vmlinux. Set kernel_path.',
    'There is no kernel at (path). Set kernel_path.',
  ],
  ['"/srv/a b" and (/home/me/x)', '"(path) b" and ((path))'],
  ['/dev/kvm cannot be opened.', '/dev/kvm cannot be opened.'],
  ['/home/jürgen/a~b/x, ENOENT:/opt/y', '(path), ENOENT:(path)'],
  ['file:///etc/key and /dev/shm/x and /proc/7/root/y', '(path) and (path) and (path)'],
  ['/proc/cpuinfo at http://[::1]/x', '/proc/cpuinfo at http://[::1]/x'],
  ['https://example.com/a/b and/or cpu', 'https://example.com/a/b and/or cpu'],
])('%s', (text, shown) => expect(withoutHostPaths(text)).toBe(shown));

it('finds the values that are paths', () => {
  const config = {
    enabled: true,
    base: '/srv/x',
    images: { a: '~/a', b: '' },
    url: 'https://h/p',
    caps: ['/tmp', 'ALL'],
  };
  expect(withoutPathValues(config)).toEqual({
    ...{ enabled: true, base: '(path)', images: { a: '(path)', b: '' }, url: 'https://h/p' },
    caps: ['(path)', 'ALL'],
  });
});
