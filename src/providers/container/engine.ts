// The engine's HTTP interface: every call has a deadline, every answer a bound, every failure one of three kinds.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../domain/ports.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import { withinDeadline } from '../deadline.ts';
import { type EngineReply, readBytes, readJson, readList, requireSuccess } from './engine-answers.ts';
import { type ConnectionKind, EngineConnection } from './engine-connection.ts';
import { engineSlow } from './engine-faults.ts';

const CALL_MS = 10_000;

export interface EngineRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Without its query. */
  path: string;
  /** Objects are sent as JSON: the engine's filters. */
  query?: Readonly<Record<string, string | number | object>>;
  /** An object is sent as JSON, bytes as a tar. */
  body?: object | Buffer;
  /** For "did not … within": `create a container`. */
  what: string;
  /** 10 s unless given. */
  ms?: number;
  /** 4 MiB unless given. */
  maxBytes?: number;
  /** `own` finds out whether the engine can be reached anew: a kept connection outlives the socket's name. `kept` unless given. */
  connection?: ConnectionKind;
}

export interface Engine {
  /** The whole answer. Rejects with EngineRefusal for a status of 400 or more, `unavailable` when it was lost. */
  bytes(order: EngineRequest, signal: AbortSignal): Promise<Buffer>;
  /** As `bytes`, parsed; undefined for an empty answer. The shape is the caller's to check. */
  json(order: EngineRequest, signal: AbortSignal): Promise<unknown>;
  /** What `read` makes of each element of the list that is the answer, as it comes; undefined is left out. */
  list<T>(order: EngineRequest, signal: AbortSignal, read: (element: unknown) => T | undefined): Promise<T[]>;
  /** An answer to be read as it comes; the deadline is for its head. The caller destroys it. */
  stream(order: EngineRequest, signal: AbortSignal): Promise<IncomingMessage>;
  /** The raw connection behind a 101. The caller destroys it; `signal` has no meaning once it is there. */
  upgrade(order: EngineRequest, signal: AbortSignal): Promise<Socket>;
  /** Where it is, for the log and the probe. */
  label(): Promise<string>;
  close(): void;
}

export function openEngine({ config, clock }: { config: ContainerConfig; clock: Clock }): Engine {
  const line = new EngineConnection(config);
  const timed = <T>(
    { what, ms = CALL_MS }: EngineRequest,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    late?: (value: T) => void,
  ) => withinDeadline(clock, { ms, expired: engineSlow(what, ms), signal }, work, late);
  const answered = <T>(
    order: EngineRequest,
    signal: AbortSignal,
    read: (answered: EngineReply) => Promise<T>,
  ) =>
    timed(order, signal, async (inner) =>
      read(await line.answer(order, { connection: order.connection ?? 'kept', signal: inner })),
    );
  return {
    bytes: (order, signal) => answered(order, signal, (given) => readBytes(order, given)),
    json: (order, signal) => answered(order, signal, (given) => readJson(order, given)),
    list: (order, signal, read) => answered(order, signal, (given) => readList(order, given, read)),
    stream: (order, signal) =>
      timed(
        order,
        signal,
        async (inner) =>
          requireSuccess(order, await line.answer(order, { connection: 'own', signal: inner })),
        ({ message: answer }) => answer.destroy(),
      ).then(({ message: answer }) => answer),
    upgrade: (order, signal) =>
      timed(
        order,
        signal,
        (inner) => line.socket(order, inner),
        (socket) => socket.destroy(),
      ),
    label: () => line.label(),
    close: () => line.close(),
  };
}
