// Every screen, by the first part of its path. All but the first two are loaded when they are opened.
import type { ComponentType } from 'preact';
import { Overview } from '../screens/overview.tsx';
import { SandboxList } from '../screens/sandboxes.tsx';

export interface ScreenProps {
  /** The rest of the path. */
  rest: string;
}
type Loader = () => Promise<ComponentType<ScreenProps>>;

export interface ScreenEntry {
  path: string;
  title: string;
  /** Only for callers that administer. */
  admin?: boolean;
  /** Not in the list of screens. */
  hidden?: boolean;
  screen?: ComponentType<ScreenProps>;
  /** Of a screen that is loaded when it is opened. */
  load?: Loader;
}

const lazy = (path: string, title: string, load: Loader, more: Partial<ScreenEntry> = {}): ScreenEntry => ({
  path,
  title,
  load,
  ...more,
});
const admin = { admin: true };

export const SCREENS: readonly ScreenEntry[] = [
  { path: '', title: 'Overview', screen: Overview },
  { path: 'sandboxes', title: 'Sandboxes', screen: SandboxList },
  lazy('sandbox', 'Sandbox', async () => (await import('../screens/sandbox/sandbox.tsx')).SandboxScreen, {
    hidden: true,
  }),
  lazy('spawn', 'New sandbox', async () => (await import('../screens/spawn.tsx')).SpawnScreen, {
    hidden: true,
  }),
  lazy('templates', 'Templates', async () => (await import('../screens/templates.tsx')).Templates),
  lazy('images', 'Images', async () => (await import('../screens/images.tsx')).Images),
  lazy('events', 'Events', async () => (await import('../screens/events.tsx')).Events),
  lazy('egress', 'Egress', async () => (await import('../screens/egress.tsx')).EgressScreen),
  lazy('usage', 'Usage', async () => (await import('../screens/usage.tsx')).Usage),
  lazy('owners', 'Owners and quotas', async () => (await import('../screens/owners.tsx')).Owners),
  lazy('providers', 'Providers', async () => (await import('../screens/providers.tsx')).Providers),
  lazy('workers', 'Workers', async () => (await import('../screens/workers.tsx')).Workers),
  lazy('replicas', 'Servers', async () => (await import('../screens/replicas.tsx')).Replicas, admin),
  lazy('audit', 'Audit', async () => (await import('../screens/audit.tsx')).Audit, admin),
  lazy('keys', 'Keys and logins', async () => (await import('../screens/keys.tsx')).Keys, admin),
  lazy('system', 'System', async () => (await import('../screens/system.tsx')).System, admin),
  lazy('docs', 'API explorer', async () => (await import('../screens/explorer/explorer.tsx')).Explorer),
];

export function screenOf(path: string): { entry: ScreenEntry | undefined; rest: string } {
  const [first = '', ...rest] = path.split('/');
  const name = first === 'sandboxes' && rest.length > 0 ? 'sandbox' : first;
  return { entry: SCREENS.find((screen) => screen.path === name), rest: rest.join('/') };
}
