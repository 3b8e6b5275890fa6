// What a worker says that it can do: capabilities of any of its providers, of each as `provider/capability`, and
// `sessions` if control planes can reach the inside of its sandboxes.

/** Absent from workers of earlier versions and with `worker.sessions: false`. */
export const SESSIONS = 'sessions';

/** What can be done inside a sandbox of `provider` on the worker; nothing without sessions. */
export function workerCapabilities(
  { capabilities }: { capabilities: readonly string[] },
  provider: string,
): readonly string[] {
  if (!capabilities.includes(SESSIONS)) return [];
  const own = `${provider}/`;
  return capabilities.filter((each) => each.startsWith(own)).map((each) => each.slice(own.length));
}
