// Further hosts on one session with the agent: a worker holds the session and relays the streams of control planes into it
// (docs/design/worker-sessions.md). Numbers and tags are changed, payloads are passed on as they are, and credit is end to end.
import type { Duplex } from 'node:stream';
import type { Clock, Logger } from '../domain/ports.ts';
import type { FrameWriter } from './frame-writer.ts';
import type { AgentFacts } from './handshake.ts';
import { readHello } from './hello.ts';
import { RelayLink } from './relay-link.ts';
import type { Streams } from './streams.ts';

/** Replicas that use one sandbox at a time, with room for links that are about to end. */
const LINKS_MAX = 64;

export interface RelayDeps {
  welcome: AgentFacts;
  streams: Streams;
  frames: FrameWriter;
  clock: Clock;
  logger: Logger;
}

export class Relay {
  readonly #deps: RelayDeps;
  readonly #links = new Set<Duplex>();
  #isWaiting = false;

  constructor(deps: RelayDeps) {
    this.#deps = deps;
  }

  /**
   * Serves one further host until its stream or the session ends, and owns the stream. Never rejects: a host that breaks
   * the protocol, or opens no session within 5 s, loses its stream only. After `draining` aborts, the link ends once it has
   * nothing open.
   */
  async serve(stream: Duplex, draining?: AbortSignal): Promise<void> {
    stream.on('error', () => undefined);
    if (this.#links.size >= LINKS_MAX) return void stream.destroy();
    this.#links.add(stream);
    let drain = () => {};
    try {
      const link = await this.#open(stream);
      if (this.#isWaiting) stream.pause();
      drain = () => link.drain();
      draining?.addEventListener('abort', drain, { once: true });
      if (draining?.aborted) link.drain();
      await link.ended;
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'A relayed session ended with a fault.');
    } finally {
      draining?.removeEventListener('abort', drain);
      this.#links.delete(stream);
      stream.destroy();
    }
  }

  /** A function of its own, because one that waits for the end of the link would keep the opening in memory. */
  async #open(stream: Duplex): Promise<RelayLink> {
    const { welcome, streams, frames, clock } = this.#deps;
    const hello = await readHello(stream, clock);
    const onSent = () => this.#holdBack();
    return new RelayLink({ stream, streams, agent: frames, clock, onSent }, { hello, welcome });
  }

  /** The session is over. */
  end(): void {
    for (const stream of this.#links) stream.destroy();
  }

  /** While the agent is slow to read, no host is read. */
  #holdBack(): void {
    const { frames } = this.#deps;
    if (this.#isWaiting || !frames.isFull) return;
    this.#isWaiting = true;
    for (const stream of this.#links) stream.pause();
    void frames.drained().then(() => {
      this.#isWaiting = false;
      for (const stream of this.#links) stream.resume();
    });
  }
}
