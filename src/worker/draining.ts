// Whether this worker takes new sandboxes. It stops when the control plane says so, by call or in the answer to a
// heartbeat, and when the process is told to stop; those that run go on.

export class Draining {
  /** Called at each change: the control plane is to hear of it soon. */
  onChange: () => void = () => {};
  #asked = false;
  /** The control plane itself wants it: only then may it take that back. */
  #wanted = false;
  #stopping = false;

  get isDraining(): boolean {
    return this.#asked || this.#stopping;
  }

  /**
   * `worker.shutdown`: holds until an answer to a heartbeat wants it no longer. `wanted`: the caller is to say so in these
   * answers from now on; else one of them has to want it first.
   */
  ask(wanted: boolean): void {
    if (wanted) this.#wanted = true;
    this.#set(true);
  }

  /** The `drain` of a heartbeat's answer; undefined where the control plane says nothing of it. */
  heard(drain: boolean | undefined): void {
    if (drain === undefined) return;
    const takenBack = this.#wanted && !drain;
    this.#wanted = drain;
    if (drain || takenBack) this.#set(drain);
  }

  /** For good. */
  stop(): void {
    this.#stopping = true;
    this.onChange();
  }

  #set(asked: boolean): void {
    if (this.#asked === asked) return;
    this.#asked = asked;
    this.onChange();
  }
}
