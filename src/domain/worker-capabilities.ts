// What a worker says that it can do: capabilities of any of its providers, of each as `provider/capability`, and
// `sessions` if control planes can reach the inside of its sandboxes.

/** Absent from workers of earlier versions and with `worker.sessions: false`. */
export const SESSIONS = 'sessions';
/** As `provider/pulls`: the worker answers `worker.image` for this provider. */
export const PULLS = 'pulls';
/** The worker answers calls on its image store. Absent from workers of earlier versions. */
export const IMAGES = 'images';

export const canPull = ({ capabilities }: { capabilities: readonly string[] }, provider: string): boolean =>
  capabilities.includes(`${provider}/${PULLS}`);

/** What can be done inside a sandbox of `provider` on the worker; nothing without sessions. */
export function workerCapabilities(
  { capabilities }: { capabilities: readonly string[] },
  provider: string,
): readonly string[] {
  if (!capabilities.includes(SESSIONS)) return [];
  const own = `${provider}/`;
  const all = capabilities.filter((each) => each.startsWith(own)).map((each) => each.slice(own.length));
  return all.filter((each) => each !== PULLS);
}
