// THE STORE SEAM: how the processes on a store wake each other. store.ts has the rules for all tables.
//
// A signal only saves time: it may be lost, repeated, or come for no reason. Who is woken looks at the store. Whoever listens is
// also woken by the clock: of events within 250 ms after another process stored some, of everything else each second. So a process
// that gets no signals at all is slower, and not wrong.

/**
 * - `events`: events were stored.
 * - `freed` (whose, where): capacity became free.
 * - `tickets`: spawns began to wait, or have another home. `ticket` (its id, or where it was admitted): a spawn no longer waits.
 * - `quota` (the owner), `templates` (a name), `secrets` (a name): these changed.
 * - `demand` (a spawn, as JSON): a process admitted one without a template.
 * - `roles` (who had them): a process has given its roles back.
 */
export const SIGNAL_KINDS = [
  'events',
  'freed',
  'tickets',
  'ticket',
  'quota',
  'templates',
  'secrets',
  'demand',
  'roles',
] as const;
export type SignalKind = (typeof SIGNAL_KINDS)[number];

export interface SignalStore {
  /** Wakes listeners of other processes, and perhaps of this one, some ms later. Call it after the commit. Never throws. */
  send(kind: SignalKind, subject?: string): void;
  /**
   * Calls `listener` for each signal of the kind, until the returned function is called. Without a subject anything of the kind may
   * have changed. Where nobody shares the store it is never called: the process knows what it did. Must not throw.
   */
  on(kind: SignalKind, listener: (subject?: string) => void): () => void;
}
