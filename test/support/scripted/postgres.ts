// A server that speaks PostgreSQL's protocol (postgresql.org/docs/current/protocol.html) and answers as a test says: for
// faults that no real server shows on demand.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export type Answer =
  | { rows: Record<string, string>[] }
  | { error: string; severity?: 'ERROR' | 'FATAL' }
  /** Nothing, ever. */
  | 'silence'
  /** The connection ends. */
  | 'hang up'
  /** Half of an answer, then the connection ends. */
  | 'half';

export interface ScriptedPostgres {
  port: number;
  /** Parameters of the start-up messages so far. */
  startups: Record<string, string>[];
  /** Texts of statements so far, with the settings. */
  statements: string[];
  /** Connections that are open. */
  open(): number;
  /** Sends bytes to all of them, unasked. */
  send(bytes: Buffer): void;
  isStandby: boolean;
  isReadOnly: boolean;
  /** Refuses connections with this SQLSTATE after the start-up message; `silence` never answers it. */
  refusal: string | 'silence' | undefined;
  answer: (text: string) => Answer;
}

const SSL_REQUEST = 80_877_103;

export async function scriptedPostgres(facts: Partial<ScriptedPostgres> = {}): Promise<ScriptedPostgres> {
  const sockets = new Set<Socket>();
  const scripted: ScriptedPostgres = {
    ...{ port: 0, startups: [], statements: [], isStandby: false, isReadOnly: false, refusal: undefined },
    answer: () => ({ rows: [] }),
    open: () => sockets.size,
    send: (bytes) => {
      for (const socket of sockets) socket.write(bytes);
    },
    ...facts,
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    serve(socket, scripted);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scripted.port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return scripted;
}

function serve(socket: Socket, scripted: ScriptedPostgres): void {
  let buffer = Buffer.alloc(0);
  let isStarted = false;
  let text = '';
  const read = () => {
    for (;;) {
      const head = isStarted ? 1 : 0;
      if (buffer.length < head + 4) return;
      const size = head + buffer.readInt32BE(head);
      if (buffer.length < size) return;
      const [type, body] = [String.fromCharCode(buffer[0]!), buffer.subarray(head + 4, size)];
      buffer = buffer.subarray(size);
      if (!isStarted) {
        if (body.readInt32BE(0) === SSL_REQUEST) socket.write('N');
        else {
          isStarted = true;
          start(socket, scripted, body);
        }
      } else if (type === 'Q') reply(socket, scripted, body.subarray(0, -1).toString(), true);
      else if (type === 'P') text = body.toString().split('\0')[1] ?? '';
      else if (type === 'S') reply(socket, scripted, text, false);
      else if (type === 'X') socket.end();
    }
  };
  socket.on('data', (chunk) => {
    buffer = Buffer.concat([buffer, chunk]);
    read();
  });
}

function start(socket: Socket, scripted: ScriptedPostgres, body: Buffer): void {
  const words = body.subarray(4).toString().split('\0');
  const pairs = Array.from({ length: Math.floor(words.length / 2) }, (_, at) =>
    words.slice(2 * at, 2 * at + 2),
  );
  scripted.startups.push(Object.fromEntries(pairs.filter(([name]) => name)));
  if (scripted.refusal === 'silence') return;
  if (scripted.refusal !== undefined) {
    socket.end(errorMessage(scripted.refusal, 'FATAL'));
    return;
  }
  socket.write(Buffer.concat([message('R', int32(0)), message('K', int32(1), int32(2)), READY]));
}

function reply(socket: Socket, scripted: ScriptedPostgres, text: string, isSimple: boolean): void {
  scripted.statements.push(text);
  const flag = (value: boolean) => (value ? 't' : 'f');
  const answer: Answer = text.startsWith('SET ')
    ? { rows: [{ is_standby: flag(scripted.isStandby), is_read_only: flag(scripted.isReadOnly) }] }
    : scripted.answer(text);
  if (answer === 'silence') return;
  const opening = isSimple ? [] : [message('1'), message('2')];
  if (answer === 'hang up') return void socket.destroy();
  if (answer === 'half')
    return void socket.write(Buffer.concat([...opening, Buffer.from('T')]), () => socket.destroy());
  if ('error' in answer) {
    const { error, severity = 'ERROR' } = answer;
    socket.write(Buffer.concat([errorMessage(error, severity), ...(severity === 'ERROR' ? [READY] : [])]));
    if (severity === 'FATAL') socket.end();
    return;
  }
  // A list of answers is what `pg` makes of two statements in one text.
  const settings = text.startsWith('SET ') ? [message('C', cstring('SET'))] : [];
  socket.write(Buffer.concat([...opening, ...settings, ...rowMessages(answer.rows), READY]));
}

function rowMessages(rows: readonly Record<string, string>[]): Buffer[] {
  const names = Object.keys(rows[0] ?? {});
  const isBoolean = (name: string) => name.startsWith('is_');
  const columns = names.map((name) =>
    Buffer.concat([
      cstring(name),
      int32(0),
      int16(0),
      int32(isBoolean(name) ? 16 : 25),
      int16(-1),
      int32(-1),
      int16(0),
    ]),
  );
  const lines = rows.map((row) =>
    message(
      'D',
      int16(names.length),
      ...names.flatMap((name) => [int32(row[name]!.length), Buffer.from(row[name]!)]),
    ),
  );
  return [
    message('T', int16(columns.length), ...columns),
    ...lines,
    message('C', cstring(`SELECT ${rows.length}`)),
  ];
}

const int16 = (value: number) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const cstring = (text: string) => Buffer.from(`${text}\0`);
const message = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};
const READY = message('Z', Buffer.from('I'));

export const errorMessage = (state: string, severity = 'ERROR') =>
  message('E', ...[`S${severity}`, `V${severity}`, `C${state}`, 'Mscripted'].map(cstring), Buffer.from([0]));
