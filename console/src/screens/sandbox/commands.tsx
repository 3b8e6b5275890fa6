// The commands of a sandbox: a list, one to run, signals, and the output of a detached one.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExecItem, ExecResult } from '../../../../src/schema/exec.ts';
import { call, json } from '../../api/call.ts';
import { Failed, Show, useGet } from '../../parts/load.tsx';
import { LogBox } from '../../parts/log-box.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { State, shown, shown2, Time } from '../../parts/text.tsx';
import type { TabProps } from './sandbox.tsx';

export function Commands({ id }: TabProps): JSX.Element {
  const loaded = useGet<ExecItem[]>(`sandboxes/${id}/execs`, {}, 5000);
  const [output, setOutput] = useState<string | undefined>();
  const [failure, setFailure] = useState<Error | undefined>();
  const tried = async (work: () => Promise<unknown>) => {
    setFailure(undefined);
    try {
      await work();
      loaded.again();
    } catch (error) {
      setFailure(error as Error);
    }
  };
  const read = (exec: string) =>
    tried(async () => {
      const answer = await call('GET', `sandboxes/${id}/execs/${exec}/output`, { query: { follow: false } });
      setOutput(outputOf(await answer.text()));
    });
  const columns: readonly Column<ExecItem>[] = [
    {
      id: 'state',
      title: 'State',
      width: '8rem',
      value: ({ state }) => state,
      cell: ({ state }) => <State of={state} />,
    },
    {
      id: 'command',
      title: 'Command',
      width: 'minmax(12rem, 3fr)',
      cell: ({ command }) => <code>{shown(String(command))}</code>,
    },
    { id: 'exit', title: 'Exit', width: '5rem', cell: ({ exit_code, signal }) => signal ?? exit_code ?? '' },
    {
      id: 'started',
      title: 'Started',
      width: '8rem',
      value: ({ started_at }) => started_at,
      cell: ({ started_at }) => <Time at={started_at} />,
    },
    {
      id: 'do',
      title: 'Actions',
      width: '12rem',
      cell: ({ exec_id, detached, state }) => (
        <>
          {detached && (
            <button type="button" class="small" onClick={() => void read(exec_id)}>
              Output
            </button>
          )}
          {state === 'running' && (
            <button
              type="button"
              class="small"
              onClick={() =>
                void tried(() =>
                  json('POST', `sandboxes/${id}/execs/${exec_id}/signal`, { body: { signal: 'SIGTERM' } }),
                )
              }
            >
              Stop
            </button>
          )}
        </>
      ),
    },
  ];
  return (
    <>
      <Run id={id} onDone={(text) => void tried(async () => setOutput(text))} onFailure={setFailure} />
      {failure && <Failed failure={failure} />}
      {output !== undefined && <LogBox label="Output" text={shown2(output) || 'No output.'} />}
      <Show of={loaded}>
        {(rows) => (
          <Table
            label="Commands"
            rows={rows}
            columns={columns}
            keyOf={({ exec_id }) => exec_id}
            empty={<p>No command ran yet.</p>}
          />
        )}
      </Show>
    </>
  );
}

/** The text of both outputs, as they came. */
function outputOf(ndjson: string): string {
  const lines = ndjson.split('\n').filter((line) => line !== '');
  return lines.map((line) => String((JSON.parse(line) as { data?: string }).data ?? '')).join('');
}

function Run({
  id,
  onDone,
  onFailure,
}: {
  id: string;
  onDone(text: string): void;
  onFailure(error: Error): void;
}): JSX.Element {
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const [command, detach] = [String(data.get('command')), data.get('detach') === 'on'];
    setBusy(true);
    try {
      const body = detach ? { command, detach } : { command };
      const result = await json<Partial<ExecResult>>('POST', `sandboxes/${id}/exec`, { body });
      const { stdout = '', stderr = '', exit_code } = result;
      onDone(detach ? 'The command runs in the background.' : `${stdout}${stderr}\n[exit ${exit_code}]`);
    } catch (error) {
      onFailure(error as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="filters" onSubmit={submit}>
      <label class="grow">
        <span class="visually-hidden">Command</span>
        <input name="command" placeholder="Command" required spellcheck={false} autoComplete="off" />
      </label>
      <label>
        <input type="checkbox" name="detach" /> in the background
      </label>
      <button type="submit" disabled={busy}>
        {busy ? 'Running …' : 'Run'}
      </button>
    </form>
  );
}
