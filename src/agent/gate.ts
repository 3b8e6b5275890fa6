// The connections that programs of a sandbox make to its proxy port, for a sandbox without a network of its own. The sandbox
// only carries bytes: whoever accepts a connection decides where it leads.
import { tunnel } from './connect.ts';
import { AgentFault } from './fault.ts';
import type { Piece } from './inbox.ts';
import type { GateConnection, GateOrigin, SandboxGate } from './io.ts';
import type { Requests } from './requests.ts';
import { WireReader, WireWriter } from './wire.ts';

/** What the agent made (agent/PROTOCOL.md, `gate`). */
const DID_PROXY = 1;
/** The origin comes on a channel of its own, before the bytes. */
const ORIGIN_CHANNEL = 1;
const UNKNOWN_UID = 0xffff_ffff;

export function sandboxGate(requests: Requests): SandboxGate {
  return {
    open: (port) => openGate(requests, port),
    accept: (signal) => acceptConnection(requests, signal),
  };
}

async function openGate(requests: Requests, port: number): Promise<boolean> {
  const args = () => new WireWriter().u16(port).u8(0).u16(0);
  const done = await requests.call('gate', readGate, { args });
  return port === 0 || (done & DID_PROXY) !== 0;
}

/** The parts that were made; the ports that could not be had follow. */
function readGate(reader: WireReader): number {
  const done = reader.u32();
  const missing = reader.u16();
  reader.raw(missing * 2);
  return done;
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

/** The address and port that the program asked for are those of the proxy port, so only the peer is of use. */
function readOrigin(reader: WireReader): GateOrigin {
  reader.u8();
  const uid = reader.u32();
  reader.str();
  reader.u8();
  reader.raw(16);
  reader.u16();
  const peerPort = reader.u16();
  reader.end();
  return { uid: uid === UNKNOWN_UID ? undefined : uid, peerPort };
}
