// The frame around all screens: where one can go, who one is, and whether what is shown is current.
import { effect, untracked } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Identity } from '../../../src/schema/session.ts';
import { slower } from '../api/pace.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failed } from '../parts/load.tsx';
import { Link, shown, Time } from '../parts/text.tsx';
import { forgetCensus, startCensus } from './census.ts';
import { KeysHelp } from './keys-help.tsx';
import { Login } from './login.tsx';
import { Palette } from './palette.tsx';
import { href, place } from './router.ts';
import { SCREENS, type ScreenEntry, type ScreenProps, screenOf } from './screens.ts';
import { actAs, actingAs, identity, logOut, session, tryAgain } from './session.ts';
import { setTheme, THEMES, type Theme, theme } from './settings.ts';
import { overlay, startShortcuts } from './shortcuts.ts';
import { link, lostAt } from './stream.ts';

effect(() => {
  const now = session.value;
  // Another owner has other sandboxes.
  actingAs.value;
  untracked(() => {
    if (now.kind === 'in') startCensus();
    else if (now.kind === 'out' && !now.mayGoOn) forgetCensus();
  });
});
startShortcuts();

/** Who looks, and as whom: what one sees is not shown to another. */
function nameOf({ actor, owner_id }: Identity): string {
  return JSON.stringify([actor, actingAs.value ?? owner_id]);
}

/** Screens stay below a login that has ended by itself, so that a form is not lost. */
export function Shell(): JSX.Element | null {
  const { value } = session;
  const [known, setKnown] = useState<Identity | undefined>();
  useEffect(() => {
    if (value.kind === 'in') setKnown(value.identity);
    if (value.kind === 'out' && !value.mayGoOn) setKnown(undefined);
  }, [value]);
  if (value.kind === 'failed') return <Failed failure={value.failure} again={() => void tryAgain()} />;
  if (value.kind === 'starting') return <p class="loading">Loading …</p>;
  return (
    <>
      {known && <Frame key={nameOf(known)} who={known} />}
      {value.kind === 'out' && <Login reason={value.reason} isOver={known !== undefined} />}
    </>
  );
}

function Frame({ who }: { who: Identity }): JSX.Element {
  const { entry, rest } = screenOf(place.value.path);
  const over = overlay.value;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Head who={who} />
      <nav aria-label="Screens">
        <ul>
          {SCREENS.filter(({ hidden, admin }) => !hidden && (!admin || who.administers)).map((screen) => (
            <li key={screen.path}>
              <NavLink screen={screen} isHere={isWithin(screen, entry)} />
            </li>
          ))}
        </ul>
      </nav>
      {over?.kind === 'palette' && <Palette key={over} who={who} onClose={leave} />}
      {over?.kind === 'keys' && <KeysHelp key={over} onClose={leave} />}
      <main id="main" tabIndex={-1}>
        <Stale />
        <Slower />
        {entry ? <Content key={entry.path} entry={entry} rest={rest} /> : <NotFound />}
      </main>
    </div>
  );
}

const leave = () => {
  overlay.value = undefined;
};

const isWithin = ({ path }: ScreenEntry, here: ScreenEntry | undefined) =>
  path === here?.path || (path === 'sandboxes' && (here?.path === 'sandbox' || here?.path === 'spawn'));

function NavLink({ screen, isHere }: { screen: ScreenEntry; isHere: boolean }): JSX.Element {
  const here = isHere ? { 'aria-current': 'page' as const } : {};
  return (
    <a {...here} href={href(screen.path)}>
      {screen.title}
    </a>
  );
}

function Head({ who }: { who: Identity }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const owner = actingAs.value ?? who.owner_id;
  return (
    <header class="head-bar">
      <Link to="">
        <strong>svc</strong>
      </Link>
      {who.label && <span class={`label ${who.label_colour}`}>{who.label}</span>}
      <Live />
      <span class="grow" />
      <button type="button" onClick={() => (overlay.value = { kind: 'palette' })}>
        Go to … <kbd>Ctrl K</kbd>
      </button>
      <span class="cut">{shown(owner ?? (who.administers ? 'all owners' : 'no owner'))}</span>
      {who.administers && !who.bound && (
        <button
          type="button"
          onClick={() => (actingAs.value === undefined ? setAsking(true) : actAs(undefined))}
        >
          {actingAs.value === undefined ? 'Act as …' : 'Act for all'}
        </button>
      )}
      <label>
        <span class="visually-hidden">Colours</span>
        <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
          {THEMES.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {who.session ? (
        <button type="button" onClick={() => void logOut()}>
          Log out
        </button>
      ) : (
        <span class="label amber">no login</span>
      )}
      {asking && (
        <Dialog
          title="Act as an owner"
          text="Calls carry this owner until you act for all again."
          fields={[{ name: 'owner', label: 'Owner', required: true }]}
          action="Act as owner"
          run={async ({ owner = '' }) => actAs(owner)}
          onClose={() => setAsking(false)}
        />
      )}
    </header>
  );
}

const LINKS = { connecting: 'connecting', live: 'live', lost: 'not current', hidden: 'paused' } as const;

function Live(): JSX.Element {
  const kind = link.value;
  return (
    <span class={`state ${kind === 'live' ? 'good' : kind === 'lost' ? 'bad' : 'busy'}`} role="status">
      <span aria-hidden="true">{kind === 'live' ? '●' : '▲'}</span> {LINKS[kind]}
    </span>
  );
}

function Stale(): JSX.Element | null {
  if (link.value !== 'lost' || lostAt.value === undefined) return null;
  return (
    <p class="stale" role="alert">
      The server stopped sending events <Time at={new Date(lostAt.value).toISOString()} />. What you see may
      be old. The console connects again by itself.
    </p>
  );
}

function Slower(): JSX.Element | null {
  if (slower.value === 1) return null;
  return (
    <p class="stale" role="status">
      The server refused calls, since there were too many. This page now reads {slower.value} times less
      often, and as often as before when none was refused for some minutes.
    </p>
  );
}

/** A chunk that is missing means that the server was upgraded. */
function Content({ entry, rest }: { entry: ScreenEntry; rest: string }): JSX.Element | null {
  const [loaded, setLoaded] = useState<{ screen?: ComponentType<ScreenProps>; failed?: true }>(
    entry.screen ? { screen: entry.screen } : {},
  );
  useEffect(() => {
    entry.load?.().then(
      (screen) => setLoaded({ screen }),
      () => setLoaded({ failed: true }),
    );
  }, [entry]);
  if (entry.admin && !identity()?.administers)
    return (
      <p class="failed" role="alert">
        This screen needs administrator rights. Log in with an administrator’s key.
      </p>
    );
  if (loaded.failed)
    return (
      <div class="failed" role="alert">
        <p>This screen could not be loaded. The server may have been upgraded.</p>
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </div>
    );
  const { screen: Found } = loaded;
  return Found ? <Found rest={rest} /> : <p class="loading">Loading …</p>;
}

function NotFound(): JSX.Element {
  return (
    <>
      <h1>No such screen</h1>
      <p>
        There is no screen at this address. <Link to="">Go to the overview</Link>.
      </p>
    </>
  );
}
