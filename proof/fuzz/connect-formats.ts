// What programs for E2B send: frames of Connect streams, whose messages do not depend on how they arrive, and wishes in JSON.
import { ServiceError } from '../../src/domain/errors.ts';
import { changedPolicy, networkOf } from '../../src/http/e2b/network-wish.ts';
import { objectOf } from '../../src/http/e2b/read-body.ts';
import { lastFrame, messageFrame, requestFrames } from '../../src/http/e2b/rpc/frames.ts';
import type { Chance } from './chance.ts';
import { anyText, pieces } from './hostile.ts';
import { type Read, require, type Sample } from './reading.ts';

export const CONNECT_FORMATS: Record<string, readonly [Sample, Read]> = {
  'frames of Connect': [frames, sameMessages],
  'wishes about the network': [wishes, readWishes],
};

const MOST = 50_000;

function frames(chance: Chance): Buffer {
  const messages = Array.from({ length: 1 + chance.below(4) }, () =>
    messageFrame({ data: { input: { stdin: chance.bytes(chance.below(200)).toString('base64') } } }),
  );
  return Buffer.concat([...messages, ...(chance.oneIn(2) ? [lastFrame({})] : [])]);
}

async function sameMessages(chance: Chance, bytes: Buffer): Promise<void> {
  const read = async (parts: readonly Buffer[]) => {
    const found: string[] = [];
    const from = (async function* () {
      yield* parts;
    })();
    try {
      for await (const message of requestFrames(from, MOST)) found.push(message.toString('hex'));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      found.push(error.code);
    }
    return found;
  };
  const [whole, cut] = [await read([bytes]), await read(pieces(chance, bytes))];
  require(JSON.stringify(whole) === JSON.stringify(cut), `${whole.join()}, in pieces ${cut.join()}`);
  const size = whole.reduce((all, message) => all + message.length / 2, 0);
  require(size <= bytes.length + 'payload_too_large'.length, 'more than was sent');
}

function wishes(chance: Chance): Buffer {
  const targets = () =>
    Array.from({ length: chance.below(4) }, () =>
      chance.pick([
        '0.0.0.0/0',
        '::/0',
        '8.8.8.0/24',
        '8.8.8.8',
        'pypi.org',
        '*.x.org',
        '1/99',
        anyText(chance),
      ]),
    );
  const network = { allowOut: targets(), denyOut: targets() };
  return Buffer.from(JSON.stringify({ ...network, network, allow_internet_access: chance.oneIn(3) }));
}

/** Never less strict than asked: what denies all traffic allows only what is named. */
function readWishes(_: Chance, bytes: Buffer): void {
  const body = objectOf(bytes);
  const denied = body.object('network')?.list('denyOut') ?? [];
  const allowed = body.object('network')?.list('allowOut') ?? [];
  const { network, egress } = networkOf(body, 'public');
  const isAll = (one: unknown) => one === '0.0.0.0/0' || one === '::/0';
  if (denied.some(isAll) && !allowed.some(isAll))
    require(network === 'none' || egress?.default === 'deny', 'open although all is denied');
  changedPolicy(body);
}
