// What a detached command carries in its own line, so that the server after this one knows it again: the backend lists the
// lines of what runs. It comes back from inside the sandbox, and is believed only about that.
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

/** undefined where there is none, or one that is not of our making. */
export function markerIn(line: unknown): Marker | undefined {
  const [, text] = (typeof line === 'string' && MARK.exec(line.slice(-5000))) || [];
  if (text === undefined) return undefined;
  try {
    return checked(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    return undefined;
  }
}

function checked(said: Record<string, unknown>): Marker | undefined {
  const { exec_id, label, began, ends } = said;
  if (typeof exec_id !== 'string' || !/^[A-Za-z0-9_-]{1,128}$/.test(exec_id)) return undefined;
  if (typeof label !== 'string' || !isMoment(began)) return undefined;
  return { exec_id, label, began, ...(isMoment(ends) && { ends }) };
}

/** Within what a date can be. */
function isMoment(said: unknown): said is number {
  return Number.isSafeInteger(said) && Math.abs(said as number) <= 8.64e15;
}
