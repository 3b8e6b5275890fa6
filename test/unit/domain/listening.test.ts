// Tables of TCP as kernels write them, and as hostile sandboxes could.
import { expect, it } from 'vitest';
import { listenersOf } from '../../../src/domain/listening.ts';
import { seededRandom } from '../../support/fakes/ports.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const line = (local: string, state: string, uid = 0) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 12345 1 0000000000000000 100 0 0 10 0\n`;

it('reads addresses and ports of what listens, and nothing else', () => {
  const table =
    HEAD + line('0100007F:1F90', '0A', 1000) + line('00000000:0016', '0A') + line('0100007F:1F91', '01');
  expect(listenersOf(table, 10)).toEqual([
    { address: '127.0.0.1', port: 8080, uid: 1000 },
    { address: '0.0.0.0', port: 22, uid: 0 },
  ]);
});

it('reads addresses of IPv6', () => {
  const all = [
    '00000000000000000000000000000000',
    '00000000000000000000000001000000',
    'B80D01200000000067452301EFCDAB89',
  ];
  const table = all.map((address) => line(`${address}:0050`, '0A')).join('');
  expect(listenersOf(table, 10).map(({ address }) => address)).toEqual([
    '::',
    '::1',
    '2001:db8::123:4567:89ab:cdef',
  ]);
});

it('takes at most as many as asked for, and leaves out what has another shape', () => {
  expect(listenersOf(line('0100007F:1F90', '0A').repeat(5), 2)).toHaveLength(2);
  for (const text of [
    '',
    '\0'.repeat(100),
    '   0: 0100007F:1F90',
    line('zz', '0A'),
    line('0100007F:1F90', '0A').slice(0, 60),
  ])
    expect(listenersOf(text, 10)).toEqual([]);
});

it('never throws, whatever a sandbox writes', () => {
  const random = seededRandom(1);
  const base = HEAD + line('0100007F:1F90', '0A') + line('00000000000000000000000001000000:0050', '0A');
  for (let n = 0; n < 2000; n += 1) {
    const bytes = Buffer.from(base);
    for (const at of random.bytes(4)) bytes[at % bytes.length] = at;
    expect(listenersOf(bytes.toString('latin1'), 10).every(({ port }) => port >= 0 && port <= 65_535)).toBe(
      true,
    );
  }
});
