// A command on a terminal, over a WebSocket. The token goes as a subprotocol, since a browser cannot set headers here.
import type { SocketAnswer } from '../../../src/schema/exec-socket.ts';
import { addressOf, call, credentials, Failure, headerText } from './call.ts';

const VERSION_PROTOCOL = 'svc.v1';

export interface TerminalEvents {
  output(bytes: Uint8Array): void;
  answer(answer: SocketAnswer): void;
  /** Nothing comes after this. */
  closed(reason: string): void;
}

export interface TerminalLink {
  input(bytes: Uint8Array<ArrayBuffer>): void;
  resize(cols: number, rows: number): void;
  close(): void;
}

/** A new command, which lives on without the page where it is kept, or one that was kept. */
export type Opening =
  | { type: 'start'; command: string; keep: boolean; tty: true; cols: number; rows: number }
  | { type: 'attach'; exec_id: string; cols: number; rows: number };

export function openTerminal(id: string, opening: Opening, events: TerminalEvents): TerminalLink {
  const url = addressOf(`sandboxes/${id}/exec/ws`);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url, [VERSION_PROTOCOL, ...secrets()]);
  socket.binaryType = 'arraybuffer';
  let isOpen = false;
  socket.onopen = () => {
    isOpen = true;
    socket.send(JSON.stringify({ ...opening, binary: true }));
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === 'string') events.answer(JSON.parse(data) as SocketAnswer);
    else events.output(new Uint8Array(data, 1));
  };
  socket.onclose = ({ reason }) => {
    if (isOpen) events.closed(reason || 'The connection ended.');
    else void whyRefused(id).then(events.closed);
  };
  const send = (data: string | Uint8Array<ArrayBuffer>) =>
    socket.readyState === WebSocket.OPEN && socket.send(data);
  return {
    input: (bytes) => void send(bytes),
    resize: (cols, rows) => void send(JSON.stringify({ type: 'resize', cols, rows })),
    close: () => socket.close(),
  };
}

function secrets(): string[] {
  const { token, owner } = credentials;
  const encoded = (text: string) =>
    btoa(headerText(text)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const protocols: string[] = [];
  if (token !== undefined) protocols.push(`svc.key.${encoded(token)}`);
  if (owner !== undefined) protocols.push(`svc.user.${encoded(owner)}`);
  return protocols;
}

/** A browser does not say why an upgrade failed: the same path without one does. */
async function whyRefused(id: string): Promise<string> {
  try {
    await call('GET', `sandboxes/${id}/exec/ws`);
  } catch (error) {
    if (error instanceof Failure && error.status !== 426) return error.message;
  }
  return 'The terminal could not connect although the server answers. A proxy in front of it may block WebSockets: see docs/proxies.md.';
}
