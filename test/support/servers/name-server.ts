// A name server for one domain, and programs that ask only it: names below the domain lead to this machine.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';

const [QUESTION, A, ANSWERED] = [12, 1, 0x8180];
const TTL_S = 1;

export interface NameServer {
  /** What stands before a command so that it finds names by this server: needs root, unshare and mount. */
  prefix: readonly string[];
  stop(): Promise<void>;
}

/** Writes the settings of a resolver to `file`. Needs root, since resolvers ask port 53 alone. */
export async function startNameServer(domain: string, file: string): Promise<NameServer> {
  const { pid } = process;
  // An address of this process, so that test runs do not meet.
  const address = `127.77.${(pid >> 8) & 255}.${pid & 255}`;
  const socket = createSocket('udp4');
  socket.on('message', (question, { port, address: from }) =>
    socket.send(answerTo(question, domain), port, from),
  );
  socket.bind(53, address);
  await once(socket, 'listening');
  writeFileSync(file, `nameserver ${address}\n`);
  const inside = `mount --bind '${file}' /etc/resolv.conf && exec "$@"`;
  return {
    prefix: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', inside, 'sh'],
    stop: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** RFC 1035: 127.0.0.1 for names below the domain, nothing for other types, and "no such name" for the rest. */
function answerTo(question: Buffer, domain: string): Buffer {
  const { name, end } = nameIn(question);
  const isOurs = name.endsWith(`.${domain}`);
  const isAddress = isOurs && question.readUInt16BE(end) === A;
  const head = Buffer.from(question.subarray(0, QUESTION));
  head.writeUInt16BE(isOurs ? ANSWERED : ANSWERED | 3, 2);
  head.writeUInt16BE(isAddress ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, QUESTION, 0, A, 0, 1, 0, 0, 0, TTL_S, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat([head, question.subarray(QUESTION, end + 4), ...(isAddress ? [record] : [])]);
}

function nameIn(question: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = QUESTION;
  for (let size = question[at] ?? 0; size > 0; size = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
