// What clients of PostgreSQL run, as a proxy between them sees it.

/** The names of the prepared statements that a message runs (postgresql.org/docs/current/protocol-message-formats.html, Bind). */
export function boundStatements(request: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at + 5 <= request.length; at += 1 + request.readUInt32BE(at + 1))
    if (request[at] === 0x42) names.push(request.toString('utf8', at + 5).split('\0', 2)[1] ?? '');
  return names;
}
