// What the sandbox wrote to its console, live. Following stops while one has scrolled up.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogLine } from '../../../../src/schema/exec.ts';
import { call, Failure } from '../../api/call.ts';
import { linesOf } from '../../api/lines.ts';
import { Failed } from '../../parts/load.tsx';
import { LogBox } from '../../parts/log-box.tsx';
import { save } from '../../parts/save.ts';
import { shown } from '../../parts/text.tsx';
import type { TabProps } from './sandbox.tsx';

const MOST = 10_000;
const PAINT_MS = 200;
/** After a connection ended: the server may be away. */
const AGAIN_MS = 2000;
/** Pixels from the end within which one follows. */
const NEAR_END = 200;

export function Logs({ id }: TabProps): JSX.Element {
  const [lines, setLines] = useState<string[]>([]);
  const [failure, setFailure] = useState<Error | undefined>();
  const [filter, setFilter] = useState('');
  const box = useRef<HTMLElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const stop = new AbortController();
    let fresh: string[] = [];
    // A connection that begins anew brings what is there already.
    let isAnew = false;
    const paint = setInterval(() => {
      if (fresh.length === 0) return;
      const [more, before] = [fresh, isAnew];
      fresh = [];
      isAnew = false;
      setLines((now) => [...(before ? [] : now), ...more].slice(-MOST));
    }, PAINT_MS);
    const read = async () => {
      const query = { follow: true, lines: 1000 };
      for await (const line of linesOf(
        await call('GET', `sandboxes/${id}/logs`, { query, signal: stop.signal }),
      )) {
        const { line: text } = JSON.parse(line || '{}') as Partial<LogLine>;
        if (text === undefined) continue;
        fresh.push(text);
        if (fresh.length > 2 * MOST) fresh.splice(0, MOST);
      }
    };
    const follow = async () => {
      for (; !stop.signal.aborted; isAnew = true) {
        await read().catch((error) => {
          if (error instanceof Failure && error.status !== 0) throw error;
        });
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    follow().catch((error) => stop.signal.aborted || setFailure(error as Error));
    return () => {
      stop.abort();
      clearInterval(paint);
    };
  }, [id]);
  useEffect(() => {
    const element = box.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
  const onScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
  };
  const found = filter === '' ? lines : lines.filter((line) => line.includes(filter));
  return (
    <>
      <div class="filters">
        <label>
          <span class="visually-hidden">Lines with this text</span>
          <input
            type="search"
            placeholder="Lines with this text"
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        <button type="button" onClick={() => save(`${id}.log`, new Blob([`${lines.join('\n')}\n`]))}>
          Download
        </button>
      </div>
      {failure && <Failed failure={failure} />}
      <LogBox
        label="Log"
        box={box}
        onScroll={onScroll}
        text={found.length === 0 ? 'Nothing yet.' : found.map(shown).join('\n')}
      />
    </>
  );
}
