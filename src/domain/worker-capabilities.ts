// What a worker says that it can do: capabilities of any of its providers, of each as `provider/capability`, and
// `sessions` if control planes can reach the inside of its sandboxes.

/** Absent from workers of earlier versions and with `worker.sessions: false`. */
export const SESSIONS = 'sessions';
/** As `provider/pulls`: the worker answers `worker.image` for this provider. */
export const PULLS = 'pulls';
/** As `provider/egress`: sandboxes of this provider can have an egress policy on the worker. */
export const EGRESS = 'egress';
/** As `provider/egress_gate`: they can have a transparent gate. */
export const EGRESS_GATE = 'egress_gate';
/** The worker answers calls on its image store. Absent from workers of earlier versions. */
export const IMAGES = 'images';

const OF_SPAWNS: readonly string[] = [PULLS, EGRESS, EGRESS_GATE];

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
  return all.filter((each) => !OF_SPAWNS.includes(each));
}
