// ClientHello messages of TLS, as clients send them and as none does.

export interface HelloShape {
  /** Server names; each is an extension of its own. */
  names?: readonly (string | Buffer)[];
  /** Bytes of the message in each record. */
  perRecord?: number;
  /** Bytes of padding. */
  padding?: number;
}

const sized = (size: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const head = Buffer.alloc(size);
  head.writeUIntBE(content.length, 0, size);
  return Buffer.concat([head, content]);
};

const extension = (type: number, content: Buffer) =>
  Buffer.concat([Buffer.from([type >> 8, type & 255]), sized(2, content)]);

export function clientHello({ names = [], perRecord = 16_384, padding = 0 }: HelloShape): Buffer {
  const extensions = names.map((name) =>
    extension(0, sized(2, Buffer.from([0]), sized(2, Buffer.from(name as string)))),
  );
  if (padding > 0) extensions.push(extension(21, Buffer.alloc(padding)));
  const body = Buffer.concat([
    ...[
      Buffer.from([3, 3]),
      Buffer.alloc(32, 7),
      sized(1, Buffer.alloc(32)),
      sized(2, Buffer.from([0x13, 1])),
    ],
    ...[sized(1, Buffer.from([0])), sized(2, ...extensions)],
  ]);
  const message = Buffer.concat([Buffer.from([1]), sized(3, body)]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += perRecord)
    records.push(Buffer.from([22, 3, 1]), sized(2, message.subarray(at, at + perRecord)));
  return Buffer.concat(records);
}
