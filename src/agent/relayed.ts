// One stream of a further host (relay-link.ts) under its number in the session. Both directions are held to the credit that the
// other end gave, since only then is what waits bounded.
import { AgentFault } from './fault.ts';
import type { FrameWriter } from './frame-writer.ts';
import { FIRST_CREDIT, TYPE } from './protocol.ts';

/** The agent's bound (agent/src/wire/stream-take.c). */
const CREDIT_MAX = 0x7fff_ffff;
const NOTHING = Buffer.alloc(0);

interface RelayedDeps {
  agent: FrameWriter;
  host: FrameWriter;
  /** Called at the last frame of the agent. */
  onEnd(): void;
}

export class Relayed {
  /** Its number in the session; given by `Streams.borrow`. */
  id = 0;
  readonly #hostId: number;
  readonly #deps: RelayedDeps;
  #hostMaySend = FIRST_CREDIT;
  #agentMaySend = FIRST_CREDIT;
  #isCancelled = false;

  constructor(hostId: number, deps: RelayedDeps) {
    this.#hostId = hostId;
    this.#deps = deps;
  }

  /** A frame of the host. Throws AgentFault where the agent would end the session. */
  send(type: number, payload: Buffer): void {
    const { agent } = this.#deps;
    if (type === TYPE.CREDIT) this.#widen(payload.readUInt32LE(0));
    if (type === TYPE.DATA) this.#sendData(payload);
    else agent.send(type, this.id, payload);
  }

  #sendData(payload: Buffer): void {
    this.#hostMaySend -= payload.length - 1;
    if (this.#hostMaySend < 0) throw new AgentFault('DATA beyond the credit');
    this.#deps.agent.sendData(this.id, payload[0] as number, payload.subarray(1));
  }

  #widen(more: number): void {
    this.#agentMaySend += more;
    if (this.#agentMaySend > CREDIT_MAX) throw new AgentFault('too much credit');
  }

  /** A frame of the agent; true at the last one. Throws AgentFault, which ends the session. */
  accept(type: number, payload: Buffer): boolean {
    if (!PASSED.has(type)) throw new AgentFault(`frame type ${type}`);
    if (type === TYPE.DATA) this.#receive(payload);
    else {
      if (type === TYPE.CREDIT) this.#hostMaySend += only4(payload);
      this.#deps.host.send(type, this.#hostId, payload);
    }
    const isLast = type === TYPE.RESULT || type === TYPE.ERROR;
    if (isLast) this.#deps.onEnd();
    return isLast;
  }

  #receive(payload: Buffer): void {
    if (payload.length === 0) throw new AgentFault('stray DATA');
    this.#agentMaySend -= payload.length - 1;
    if (this.#agentMaySend < 0) throw new AgentFault('DATA beyond the credit');
    this.#deps.host.sendData(this.#hostId, payload[0] as number, payload.subarray(1));
  }

  /** The session is over: the link ends with it (relay.ts). */
  fail(): void {}

  /** The host has ended its link. What the agent still sends is dropped. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#deps.agent.send(TYPE.CANCEL, this.id, NOTHING);
  }
}

const PASSED: ReadonlySet<number> = new Set([
  TYPE.DATA,
  TYPE.EOF,
  TYPE.CREDIT,
  TYPE.STARTED,
  TYPE.RESULT,
  TYPE.ERROR,
]);

function only4(payload: Buffer): number {
  if (payload.length !== 4) throw new AgentFault('malformed CREDIT');
  return payload.readUInt32LE(0);
}
