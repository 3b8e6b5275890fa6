// A button that saves rows of the API as CSV.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { save } from './save.ts';

interface CsvProps {
  path: string;
  query: Record<string, string>;
  name: string;
  title: string;
}

export function Csv({ path, query, name, title }: CsvProps): JSX.Element {
  const [failure, setFailure] = useState<Error | undefined>();
  const load = () =>
    call('GET', path, { query: { ...query, format: 'csv' } })
      .then((answer) => answer.blob())
      .then((blob) => save(name, blob))
      .catch((error) => setFailure(error as Error));
  return (
    <>
      <button type="button" onClick={() => void load()}>
        {title}
      </button>
      {failure && (
        <span class="failed" role="alert">
          {failure.message}
        </span>
      )}
    </>
  );
}
