// A terminal in a sandbox: bash, or sh where there is none. What the guest prints cannot set the title, use the clipboard or open
// links.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ExecItem } from '../../src/schema/exec.ts';
import { json } from './api/call.ts';
import { type Opening, openTerminal, type TerminalLink } from './api/exec-socket.ts';
import { place, setQuery } from './app/router.ts';
import { identity } from './app/session.ts';
import { useGet } from './parts/load.tsx';
import { installStrictStyles } from './parts/strict-styles.ts';
import { Time } from './parts/text.tsx';

const COMMAND = 'if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi';
const CONNECTED = 'Connected. Ctrl+Shift+Escape leaves the terminal.';
const SCROLLBACK = 5000;
const MOST_OTHERS = 4;
const PASTE_ASKS = 1024;

export function TerminalTab({ id }: { id: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState('Connecting …');
  const [running, setRunning] = useState<string | undefined>();
  const { run, setRun, kept } = useRun(id);
  const others = kept.filter(({ exec_id }) => exec_id !== running).slice(0, MOST_OTHERS);
  const shownTerminal = useRef<Terminal | undefined>(undefined);
  useEffect(() => {
    if (run === undefined) return undefined;
    installStrictStyles();
    const element = box.current as HTMLDivElement;
    const { terminal, fit } = terminalIn(element);
    shownTerminal.current = terminal;
    fit.fit();
    const over = (text: string) => {
      setState(text);
      setRunning(undefined);
      if (place.value.query.has('exec')) setQuery({ exec: undefined });
    };
    const link = openTerminal(id, openingOf(run, terminal), {
      output: (bytes) => terminal.write(bytes),
      answer: (answer) => {
        if (answer.type === 'started') {
          setState(run.keep ? CONNECTED : `${CONNECTED} It ends with this page.`);
          setRunning(answer.exec_id);
          // Two sizes one after the other: programs draw again what a new page does not have.
          link.resize(terminal.cols, terminal.rows);
          if (run.keep) setQuery({ exec: answer.exec_id });
        } else if (answer.type === 'exit') over(`The shell ended with status ${answer.exit_code}.`);
        else if (answer.type === 'error' && answer.code === 'not_implemented' && run.keep)
          setRun({ keep: false });
        else if (answer.type === 'error') over(answer.message);
      },
      closed: (reason) => setState((now) => (/ended|status|no such/.test(now) ? now : reason)),
    });
    const unbind = bind({ terminal, fit, element }, link);
    return () => {
      unbind();
      link.close();
      terminal.dispose();
    };
  }, [id, run]);
  return (
    <>
      <div class="filters">
        <span role="status" class="grow">
          {state}
        </span>
        <ForReaders of={shownTerminal} />
        {others.map(({ exec_id, started_at }) => (
          <button
            type="button"
            key={exec_id}
            onClick={() => setRun({ exec: exec_id, keep: true })}
            title={exec_id}
          >
            Terminal of <Time at={started_at} />
          </button>
        ))}
        {running !== undefined && run?.keep && (
          <button type="button" onClick={() => void end(id, running)}>
            End
          </button>
        )}
        <button type="button" id="after-terminal" onClick={() => setRun({ keep: true })}>
          {running === undefined || !run?.keep ? 'Start again' : 'New terminal'}
        </button>
      </div>
      <div class="terminal" ref={box} />
    </>
  );
}

/** Keys, sizes and pasted text go to the command. Returns how to stop. */
function bind(
  { terminal, fit, element }: { terminal: Terminal; fit: FitAddon; element: HTMLElement },
  link: TerminalLink,
): () => void {
  const encoder = new TextEncoder();
  const leave = leaveByKeys(terminal);
  terminal.onData((text) => link.input(encoder.encode(text)));
  terminal.onResize(({ cols, rows }) => link.resize(cols, rows));
  const watch = new ResizeObserver(() => fit.fit());
  watch.observe(element);
  element.addEventListener('paste', askPaste, true);
  terminal.focus();
  return () => {
    watch.disconnect();
    element.removeEventListener('paste', askPaste, true);
    leave();
  };
}

function ForReaders({ of }: { of: { current: Terminal | undefined } }): JSX.Element {
  const [isOn, setIsOn] = useState(false);
  return (
    <label>
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => {
          setIsOn(event.currentTarget.checked);
          if (of.current) of.current.options.screenReaderMode = event.currentTarget.checked;
        }}
      />{' '}
      for screen readers
    </label>
  );
}

interface Run {
  /** A terminal that runs; absent: a new one. */
  exec?: string | undefined;
  keep: boolean;
}

/** One row less than there is for one that is followed again: its real size is then a change. */
function openingOf({ exec, keep }: Run, { cols, rows }: Terminal): Opening {
  if (exec !== undefined) return { type: 'attach', exec_id: exec, cols, rows: Math.max(1, rows - 1) };
  return { type: 'start', command: COMMAND, keep, tty: true, cols, rows };
}

/** Which terminal is shown: the one in the address, else one to which the person comes back, else a new one. */
function useRun(id: string): { run: Run | undefined; setRun(run: Run): void; kept: readonly ExecItem[] } {
  const named = place.value.query.get('exec') ?? undefined;
  const [run, setRun] = useState<Run | undefined>(
    named === undefined ? undefined : { exec: named, keep: true },
  );
  const execs = useGet<ExecItem[]>(`sandboxes/${id}/execs`, {}, 15_000);
  const isKnown = execs.data !== undefined || execs.failure !== undefined;
  const kept = (execs.data ?? []).filter(({ attachable }) => attachable);
  useEffect(() => {
    if (run === undefined && isKnown) setRun({ exec: kept.find(isOwn)?.exec_id, keep: true });
  }, [isKnown]);
  return { run, setRun, kept };
}

/** A terminal of a console of the same person, to which one comes back. */
const isOwn = ({ command, actor }: ExecItem) => command === COMMAND && actor === identity()?.actor;

const end = (id: string, exec: string) =>
  json('POST', `sandboxes/${id}/execs/${exec}/signal`, { body: { signal: 'SIGHUP' } }).catch(() => undefined);

function terminalIn(element: HTMLElement): { terminal: Terminal; fit: FitAddon } {
  const terminal = new Terminal({
    scrollback: SCROLLBACK,
    cursorBlink: false,
    linkHandler: null,
    ...themeOf(),
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  // A guest does not write the clipboard.
  terminal.parser.registerOscHandler(52, () => true);
  terminal.open(element);
  return { terminal, fit };
}

/** Returns how to stop. */
function leaveByKeys(terminal: Terminal): () => void {
  terminal.attachCustomKeyEventHandler((event) => {
    if (!(event.ctrlKey && event.shiftKey && event.key === 'Escape')) return true;
    document.getElementById('after-terminal')?.focus();
    return false;
  });
  return () => terminal.attachCustomKeyEventHandler(() => true);
}

/** A line break in what is pasted runs a command. */
function askPaste(event: ClipboardEvent): void {
  const text = event.clipboardData?.getData('text') ?? '';
  if (!/[\r\n]./.test(text) && text.length <= PASTE_ASKS) return;
  if (confirm(`Paste ${text.split(/\r?\n/).length} lines, ${text.length} characters, into the terminal?`))
    return;
  event.preventDefault();
  event.stopPropagation();
}

function themeOf() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    theme: { background: colour('--log'), foreground: colour('--log-text'), cursor: colour('--log-text') },
    fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace',
    fontSize: 14,
  };
}
