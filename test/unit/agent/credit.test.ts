// Credit of the receiving direction: what the agent may send, given back as it is taken, and more of it for few.
import { expect, test } from 'vitest';
import { ReceiveCredit, WideStreams } from '../../../src/agent/credit.ts';
import { FIRST_CREDIT } from '../../../src/agent/protocol.ts';

const PIECE = 65_536;

/** Sends and takes `pieces`, always as much as may be; the credit given in all. */
function carry(credit: ReceiveCredit, pieces: number): number {
  let given = 0;
  for (let n = 0; n < pieces; n++) {
    credit.receive(PIECE);
    given += credit.take(PIECE);
  }
  return given;
}

/** What the agent may have under way when nobody takes anything: receives until it is too much. */
function mostUnderWay(credit: ReceiveCredit): number {
  let bytes = 0;
  try {
    for (; ; bytes += PIECE) credit.receive(PIECE);
  } catch {
    return bytes;
  }
}

test('a stream that carries little gets back the credit that it used', () => {
  const credit = new ReceiveCredit(new WideStreams());
  expect(carry(credit, 12)).toBe(12 * PIECE);
  expect(mostUnderWay(credit)).toBe(FIRST_CREDIT);
});

test('a stream that carries much gets more credit, once', () => {
  const credit = new ReceiveCredit(new WideStreams());
  expect(carry(credit, 400)).toBe(400 * PIECE + 3 * FIRST_CREDIT);
  expect(mostUnderWay(credit)).toBe(4 * FIRST_CREDIT);
});

test('only a few streams have more credit at a time, and ended streams free a slot', () => {
  const wide = new WideStreams();
  const all = Array.from({ length: 20 }, () => new ReceiveCredit(wide));
  for (const credit of all) carry(credit, 400);
  const after = (credit: ReceiveCredit) => {
    credit.end();
    credit.end();
    const next = new ReceiveCredit(wide);
    carry(next, 400);
    return mostUnderWay(next);
  };
  expect(after(all[19] as ReceiveCredit)).toBe(FIRST_CREDIT);
  expect(after(all[0] as ReceiveCredit)).toBe(4 * FIRST_CREDIT);
  expect(after(all[18] as ReceiveCredit)).toBe(FIRST_CREDIT);
  expect(all.map(mostUnderWay).filter((bytes) => bytes > FIRST_CREDIT)).toHaveLength(16);
});

test('a waiting stream gets a free slot', () => {
  const wide = new WideStreams();
  const holders = Array.from({ length: 16 }, () => new ReceiveCredit(wide));
  for (const credit of holders) carry(credit, 400);
  const late = new ReceiveCredit(wide);
  carry(late, 400);
  holders[3]?.end();
  carry(late, 6);
  expect(mostUnderWay(late)).toBe(4 * FIRST_CREDIT);
});
