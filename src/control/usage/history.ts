// The newest points of sandboxes, in memory: ten minutes at the sampling interval, six hours by minute. Bounded in all: beyond the
// bound only sandboxes that somebody looks at have points, and those that nobody looked at for longest lose them.

export interface Point {
  /** ms since 1970. */
  at: number;
  cpu_percent?: number;
  memory_bytes?: number;
  disk_bytes?: number;
  rx_bytes_per_second?: number;
  tx_bytes_per_second?: number;
}

export const POINT_FIELDS = [
  'cpu_percent',
  'memory_bytes',
  'disk_bytes',
  'rx_bytes_per_second',
  'tx_bytes_per_second',
] as const;

const FINE_MS = 600_000;
const COARSE_STEP_MS = 60_000;
const COARSE_POINTS = 360;
const BYTES_OF_FIELD = 4;

/** Points at multiples of a step. A slot without a point is NaN. */
class Ring {
  readonly stepMs: number;
  readonly #size: number;
  readonly #values: Float32Array;
  /** The newest slot; slots of a new ring end here. */
  #last = 0;

  constructor(stepMs: number, size: number) {
    this.stepMs = stepMs;
    this.#size = size;
    this.#values = new Float32Array(size * POINT_FIELDS.length).fill(Number.NaN);
  }

  put(point: Point): void {
    const slot = Math.floor(point.at / this.stepMs);
    // The time never goes back in a history.
    if (slot < this.#last) return;
    const from = Math.max(this.#last + 1, slot - this.#size + 1);
    for (let at = from; at <= slot; at++)
      this.#values.fill(Number.NaN, this.#place(at), this.#place(at) + POINT_FIELDS.length);
    this.#last = slot;
    const place = this.#place(slot);
    POINT_FIELDS.forEach((name, index) => {
      this.#values[place + index] = point[name] ?? Number.NaN;
    });
  }

  points(): Point[] {
    const points: Point[] = [];
    for (let slot = this.#last - this.#size + 1; slot <= this.#last; slot++) {
      const values = [...this.#values.subarray(this.#place(slot), this.#place(slot) + POINT_FIELDS.length)];
      const known = POINT_FIELDS.flatMap((name, index) =>
        Number.isNaN(values[index]) ? [] : [[name, values[index]] as const],
      );
      if (known.length > 0) points.push({ at: slot * this.stepMs, ...Object.fromEntries(known) });
    }
    return points;
  }

  #place(slot: number): number {
    return (((slot % this.#size) + this.#size) % this.#size) * POINT_FIELDS.length;
  }
}

export class History {
  readonly #rings = new Map<string, { fine: Ring; coarse: Ring }>();
  readonly #fineMs: number;
  readonly #finePoints: number;
  readonly #most: number;

  constructor(intervalMs: number, maxBytes: number) {
    this.#fineMs = intervalMs;
    this.#finePoints = Math.ceil(FINE_MS / intervalMs);
    const each = (this.#finePoints + COARSE_POINTS) * POINT_FIELDS.length * BYTES_OF_FIELD;
    this.#most = Math.floor(maxBytes / each);
  }

  add(id: string, point: Point): void {
    const rings = this.#rings.get(id) ?? (this.#rings.size < this.#most ? this.#make(id) : undefined);
    rings?.fine.put(point);
    rings?.coarse.put(point);
  }

  /** The points of a sandbox, which keeps them from now on. */
  read(id: string, stepMs: number): { stepMs: number; points: Point[] } {
    const rings = this.#rings.get(id);
    if (rings) {
      this.#rings.delete(id);
      this.#rings.set(id, rings);
    } else if (this.#most > 0) {
      const [oldest] = this.#rings.keys();
      if (this.#rings.size >= this.#most && oldest !== undefined) this.#rings.delete(oldest);
      this.#make(id);
    }
    const ring = stepMs < COARSE_STEP_MS ? rings?.fine : rings?.coarse;
    return { stepMs: ring?.stepMs ?? stepMs, points: ring?.points() ?? [] };
  }

  forget(id: string): void {
    this.#rings.delete(id);
  }

  #make(id: string) {
    const fine = new Ring(this.#fineMs, this.#finePoints);
    const rings = { fine, coarse: new Ring(COARSE_STEP_MS, COARSE_POINTS) };
    this.#rings.set(id, rings);
    return rings;
  }
}
