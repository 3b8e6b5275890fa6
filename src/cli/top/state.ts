// What `svc top` shows and asks, and what each key changes. Pure.
import { LIVE_SORTS, type LiveSort } from '../../schema/usage-sorts.ts';

export const VIEWS = ['sandboxes', 'owners', 'workers', 'sandbox', 'help'] as const;
export type View = (typeof VIEWS)[number];

/** A question about a sandbox that one key answers, or a text that is being typed. */
export type Question = { kind: 'end'; id: string } | { kind: 'filter' };

export interface TopState {
  view: View;
  sort: LiveSort;
  isReversed: boolean;
  isPaused: boolean;
  /** Shows the newest events below. */
  hasEvents: boolean;
  /** Only sandboxes with this text in id, owner or template; empty: all. */
  filter: string;
  /** The sandbox that the cursor is on: by id, so that it stays when rows move. */
  marked?: string | undefined;
  question?: Question | undefined;
  /** What the last action did, or what went wrong with the last request; the picture before stays. */
  notice?: string | undefined;
}

export type Action =
  | { kind: 'quit' | 'suspend' | 'load' }
  | { kind: 'end' | 'extend' | 'shell' | 'logs'; id: string };

/** How far `+` moves the end of a sandbox: to this time from now. */
export const EXTENSION = '1h';
const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';
const LONGEST_FILTER = 64;
const PAGE = 10;

export const firstState = (facts: Pick<TopState, 'view' | 'sort'>): TopState => ({
  ...facts,
  isReversed: false,
  isPaused: false,
  hasEvents: false,
  filter: '',
});

/** Changes `state` by a key; `ids` are the sandboxes of the table, in order. Returns what is to be done, if anything. */
export function pressed(state: TopState, key: string, ids: readonly string[]): Action | undefined {
  if (key === CTRL_C) return { kind: 'quit' };
  if (key === CTRL_Z) return { kind: 'suspend' };
  state.notice = undefined;
  if (state.question) return answered(state, state.question, key);
  const step = STEPS[key];
  if (step !== undefined) {
    move(state, step, ids);
    return undefined;
  }
  return SWITCHES[key]?.(state) ?? onMarked(state, key, ids);
}

const STEPS: Record<string, number> = {
  down: 1,
  j: 1,
  up: -1,
  k: -1,
  pagedown: PAGE,
  pageup: -PAGE,
  home: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
};

function move(state: TopState, step: number, ids: readonly string[]): void {
  const at = ids.indexOf(state.marked ?? '');
  const to = at < 0 && Number.isFinite(step) ? (step > 0 ? 0 : ids.length - 1) : at + step;
  state.marked = ids[Math.max(0, Math.min(ids.length - 1, to))];
}

/** A second press of the same key goes back. */
const toggled = (state: TopState, view: View): Action => {
  state.view = state.view === view ? 'sandboxes' : view;
  return { kind: 'load' };
};

const SWITCHES: Record<string, (state: TopState) => Action | undefined> = {
  q: () => ({ kind: 'quit' }),
  s: (state) => {
    state.sort = LIVE_SORTS[(LIVE_SORTS.indexOf(state.sort) + 1) % LIVE_SORTS.length] ?? 'cpu';
    return { kind: 'load' };
  },
  r: (state) => {
    state.isReversed = !state.isReversed;
    return undefined;
  },
  p: (state) => {
    state.isPaused = !state.isPaused;
    return undefined;
  },
  e: (state) => {
    state.hasEvents = !state.hasEvents;
    return undefined;
  },
  o: (state) => toggled(state, 'owners'),
  w: (state) => toggled(state, 'workers'),
  '?': (state) => toggled(state, 'help'),
  '/': (state) => {
    state.question = { kind: 'filter' };
    return undefined;
  },
  escape: (state) => {
    if (state.view === 'sandboxes') state.filter = '';
    state.view = 'sandboxes';
    return { kind: 'load' };
  },
};

function onMarked(state: TopState, key: string, ids: readonly string[]): Action | undefined {
  const isShown =
    state.view === 'sandbox' || (state.view === 'sandboxes' && ids.includes(state.marked ?? ''));
  const id = state.marked;
  if (!isShown || id === undefined) return undefined;
  if (key === 'enter') return toggled(state, 'sandbox');
  if (key === 't') return { kind: 'shell', id };
  if (key === 'l') return { kind: 'logs', id };
  if (key === '+') return { kind: 'extend', id };
  if (key === 'x') state.question = { kind: 'end', id };
  return undefined;
}

function answered(state: TopState, question: Question, key: string): Action | undefined {
  if (question.kind === 'end') {
    state.question = undefined;
    return key === 'y' ? { kind: 'end', id: question.id } : undefined;
  }
  if (key === 'enter') state.question = undefined;
  else if (key === 'escape') [state.question, state.filter] = [undefined, ''];
  else if (key === 'backspace') state.filter = [...state.filter].slice(0, -1).join('');
  else if ([...key].length === 1 && key >= ' ') state.filter = (state.filter + key).slice(0, LONGEST_FILTER);
  return { kind: 'load' };
}
