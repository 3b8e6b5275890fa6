// The connections that programs of a sandbox make through its proxy port or its transparent gate, where it has no network of its own. The sandbox
// only carries bytes: whoever accepts a connection decides where it leads.
import { tunnel } from './connect.ts';
import { AgentFault } from './fault.ts';
import type { GateConnection, GateMade, GateOrder, GateOrigin, SandboxGate, TrustMade } from './gate-io.ts';
import type { Piece } from './inbox.ts';
import { CAPABILITY } from './protocol.ts';
import type { Requests } from './requests.ts';
import { WireReader, WireWriter } from './wire.ts';

/** What the agent made (agent/PROTOCOL.md, `gate`). */
const WANTS_GATE = 1;
const DID_PROXY = 1;
const DID_GATE = 2;
const BY_GATE = 2;
/** What the agent's programs trust now (`trust`). */
const DID_FILES = 1;
const DID_SYSTEM = 2;
/** The origin comes on a channel of its own, before the bytes. */
const ORIGIN_CHANNEL = 1;
const UNKNOWN_UID = 0xffff_ffff;

export function sandboxGate(requests: Requests, capabilities: number): SandboxGate {
  return {
    open: (order) => openGate(requests, order),
    ...((capabilities & CAPABILITY.trust) !== 0 && {
      trust: (certificate, roots) => trustIn(requests, certificate, roots),
    }),
    accept: (signal) => acceptConnection(requests, signal),
  };
}

async function trustIn(requests: Requests, certificate: string, roots: string): Promise<TrustMade> {
  const args = () => new WireWriter().str(certificate).str(roots);
  const done = await requests.call('trust', (reader) => reader.u32(), { args });
  return { files: (done & DID_FILES) !== 0, system: (done & DID_SYSTEM) !== 0 };
}

function openGate(requests: Requests, { proxy_port, ports }: GateOrder): Promise<GateMade> {
  const args = () => {
    const wanted = ports ?? [];
    const writer = new WireWriter().u16(proxy_port).u8(ports ? WANTS_GATE : 0);
    return wanted.reduce((all, port) => all.u16(port), writer.u16(wanted.length));
  };
  return requests.call('gate', (reader) => readMade(reader, proxy_port), { args });
}

function readMade(reader: WireReader, proxy_port: number): GateMade {
  const done = reader.u32();
  const count = reader.u16();
  const missing = Array.from({ length: count }, () => reader.u16()).filter((port) => port !== proxy_port);
  return { proxy: proxy_port === 0 || (done & DID_PROXY) !== 0, gate: (done & DID_GATE) !== 0, missing };
}

async function acceptConnection(requests: Requests, signal?: AbortSignal): Promise<GateConnection> {
  const plan = {
    args: () => new WireWriter(),
    channels: [0, ORIGIN_CHANNEL],
    starts: true,
    endsAtEof: true,
    decode: () => undefined,
  };
  const stream = requests.open('accept', plan, signal);
  await stream.started;
  requests.keepAlive(stream, 'accept');
  const piece = await stream.incoming.next();
  if (!piece) await stream.result;
  return { origin: originOf(requests, piece), socket: tunnel(stream) };
}

function originOf(requests: Requests, piece: Piece | undefined): GateOrigin {
  try {
    if (piece?.channel !== ORIGIN_CHANNEL) throw new AgentFault('a connection without its origin');
    return readOrigin(new WireReader(piece.data));
  } catch (error) {
    throw requests.fault(error);
  }
}

function readOrigin(reader: WireReader): GateOrigin {
  const how = reader.u8();
  const uid = reader.u32();
  const name = reader.str();
  const family = reader.u8();
  const address = reader.raw(16);
  const port = reader.u16();
  const peerPort = reader.u16();
  reader.end();
  const who = { uid: uid === UNKNOWN_UID ? undefined : uid, peerPort };
  if (how !== BY_GATE) return who;
  return { ...who, target: { host: name === '' ? addressText(family, address) : name, port } };
}

function addressText(family: number, bytes: Buffer): string {
  if (family === 4) return bytes.subarray(0, 4).join('.');
  if (family !== 6) throw new AgentFault('an address of another family');
  return Array.from({ length: 8 }, (_, part) => bytes.readUInt16BE(part * 2).toString(16)).join(':');
}
