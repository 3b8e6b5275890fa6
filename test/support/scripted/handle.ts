// A handle of the hosted provider's library that says what a test lets it say.
export interface Heard {
  onStdout(text: string): void;
}

export class ScriptedHandle {
  readonly pid: number;
  readonly heard: Heard;
  isLeft = false;
  readonly #end: Promise<unknown>;
  ends: (said: object) => void = () => undefined;
  breaks: () => void = () => undefined;

  constructor(pid: number, heard: Heard) {
    this.pid = pid;
    this.heard = heard;
    this.#end = new Promise((resolve, reject) => {
      this.ends = resolve;
      this.breaks = () => reject(new Error('broken off'));
    });
    this.#end.catch(() => undefined);
  }

  wait(): Promise<unknown> {
    return this.#end;
  }

  async disconnect(): Promise<void> {
    this.isLeft = true;
    this.breaks();
  }
}
