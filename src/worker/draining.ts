// Tracks whether this worker accepts new sandboxes. It stops when the control plane requests it, by call or in a
// heartbeat's answer, and when the process stops. Running sandboxes continue.

export class Draining {
  /** Called at each change, so that the control plane learns of it soon. */
  onChange: () => void = () => {};
  #requested = false;
  /** True if the control plane requested the drain. Only then may it undo it. */
  #wanted = false;
  #stopping = false;

  get isDraining(): boolean {
    return this.#requested || this.#stopping;
  }

  /**
   * Handles `worker.shutdown`: drains until a heartbeat's answer clears it. `wanted` means that the control plane
   * repeats the request in these answers; otherwise an answer has to confirm it before another one can clear it.
   */
  ask(wanted: boolean): void {
    if (wanted) this.#wanted = true;
    this.#set(true);
  }

  /** Handles the `drain` field of a heartbeat's answer; undefined if the answer has none. */
  update(drain: boolean | undefined): void {
    if (drain === undefined) return;
    const takenBack = this.#wanted && !drain;
    this.#wanted = drain;
    if (drain || takenBack) this.#set(drain);
  }

  /** Drains until the process ends. */
  stop(): void {
    this.#stopping = true;
    this.onChange();
  }

  #set(requested: boolean): void {
    if (this.#requested === requested) return;
    this.#requested = requested;
    this.onChange();
  }
}
