// A marker at the end of a detached command's shell line, by which a restarted server recognises the command: the backend
// lists the lines of running commands. The marker comes from inside the sandbox and is trusted for that sandbox only.
const MARK = /(?:^|\s)# svc:([A-Za-z0-9_-]{1,4096})$/;

export interface Marker {
  exec_id: string;
  label: string;
  /** Milliseconds since 1970; `ends` is its deadline. */
  began: number;
  ends?: number;
}

/** A comment for a shell, at the end of a line. */
export function marked(line: string, marker: Marker): string {
  return `${line} # svc:${Buffer.from(JSON.stringify(marker)).toString('base64url')}`;
}

/** Undefined for a line without a marker, or with an invalid one. */
export function markerIn(line: unknown): Marker | undefined {
  const [, text] = (typeof line === 'string' && MARK.exec(line.slice(-5000))) || [];
  if (text === undefined) return undefined;
  try {
    return checked(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    return undefined;
  }
}

function checked(value: Record<string, unknown>): Marker | undefined {
  const { exec_id, label, began, ends } = value;
  if (typeof exec_id !== 'string' || !/^[A-Za-z0-9_-]{1,128}$/.test(exec_id)) return undefined;
  if (typeof label !== 'string' || !isMoment(began)) return undefined;
  return { exec_id, label, began, ...(isMoment(ends) && { ends }) };
}

/** Whether `value` is in the range of a Date. */
function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= 8.64e15;
}
