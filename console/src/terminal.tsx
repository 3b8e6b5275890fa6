// A terminal in a sandbox: bash, or sh where there is none. What the guest prints cannot set the title, use the clipboard or open
// links.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { openTerminal } from './api/exec-socket.ts';
import { installStrictStyles } from './parts/strict-styles.ts';

const COMMAND = 'if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi';
const SCROLLBACK = 5000;
const PASTE_ASKS = 1024;

export function TerminalTab({ id }: { id: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState('Connecting …');
  const [run, setRun] = useState(0);
  const [reader, setReader] = useState(false);
  const kept = useRef<Terminal | undefined>(undefined);
  useEffect(() => {
    installStrictStyles();
    const element = box.current as HTMLDivElement;
    const terminal = new Terminal({
      scrollback: SCROLLBACK,
      cursorBlink: false,
      linkHandler: null,
      ...themeOf(),
    });
    kept.current = terminal;
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    // A guest does not write the clipboard.
    terminal.parser.registerOscHandler(52, () => true);
    terminal.open(element);
    fit.fit();
    const leave = leaveByKeys(terminal);
    const { cols, rows } = terminal;
    const encoder = new TextEncoder();
    const link = openTerminal(
      id,
      { command: COMMAND, cols, rows },
      {
        output: (bytes) => terminal.write(bytes),
        answer: (answer) => {
          if (answer.type === 'started') setState('Connected. Ctrl+Shift+Escape leaves the terminal.');
          if (answer.type === 'exit') setState(`The shell ended with status ${answer.exit_code}.`);
          if (answer.type === 'error') setState(answer.message);
        },
        closed: (reason) => setState((now) => (/ended|status/.test(now) ? now : reason)),
      },
    );
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
        <label>
          <input
            type="checkbox"
            checked={reader}
            onChange={(event) => {
              setReader(event.currentTarget.checked);
              if (kept.current) kept.current.options.screenReaderMode = event.currentTarget.checked;
            }}
          />{' '}
          for screen readers
        </label>
        <button type="button" id="after-terminal" onClick={() => setRun((now) => now + 1)}>
          Start again
        </button>
      </div>
      <div class="terminal" ref={box} />
    </>
  );
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
