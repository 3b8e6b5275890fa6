// The API explorer: every operation of the description, its parameters and shapes, and a form that calls it with the session of this
// page. It reads the description from the server itself, so that it works without a network.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { place, setQuery } from '../../app/router.ts';
import { Show, useGet } from '../../parts/load.tsx';
import { Filter, Screen } from '../../parts/screen.tsx';
import { matcher } from '../../parts/words.ts';
import { type Description, type Entry, entriesOf, resolved, type Schema, typeText } from './description.ts';
import { TryIt } from './try-it.tsx';

export function Explorer(): JSX.Element {
  const loaded = useGet<Description>('openapi.json');
  return (
    <Screen title="API explorer">
      <p>Every call of the API of this server. Calls from here are real: they use your login.</p>
      <Show of={loaded}>{(description) => <Operations of={description} />}</Show>
    </Screen>
  );
}

function Operations({ of: description }: { of: Description }): JSX.Element {
  const entries = useMemo(() => entriesOf(description), [description]);
  const { query } = place.value;
  const matches = matcher(query.get('q') ?? '') ?? (() => true);
  const found = entries.filter(({ method, path, operation: { summary, operationId } }) =>
    matches(`${method} ${path} ${summary} ${operationId}`),
  );
  const chosen = entries.find(({ operation }) => operation.operationId === query.get('op')) ?? found[0];
  const tags = [...new Set(found.map(({ operation }) => operation.tags?.[0] ?? 'other'))];
  return (
    <>
      <Filter />
      <div class="explorer">
        <nav aria-label="Operations">
          {tags.map((tag) => (
            <section key={tag}>
              <h2>{tag}</h2>
              <ul class="plain">
                {found
                  .filter(({ operation }) => (operation.tags?.[0] ?? 'other') === tag)
                  .map((entry) => (
                    <li key={entry.operation.operationId}>
                      <button
                        type="button"
                        class="link"
                        aria-current={entry === chosen ? 'true' : undefined}
                        onClick={() => setQuery({ op: entry.operation.operationId })}
                      >
                        <code>{entry.method}</code> {entry.path}
                      </button>
                    </li>
                  ))}
              </ul>
            </section>
          ))}
        </nav>
        {chosen && <One key={chosen.operation.operationId} entry={chosen} description={description} />}
      </div>
    </>
  );
}

function One({ entry, description }: { entry: Entry; description: Description }): JSX.Element {
  const { method, path, operation, parameters } = entry;
  const body = operation.requestBody?.content['application/json']?.schema;
  return (
    <section class="operation" aria-labelledby="operation">
      <h2 id="operation">{operation.summary}</h2>
      <p>
        <code>
          {method} {path}
        </code>
      </p>
      {operation.description && <p>{operation.description}</p>}
      {parameters.length > 0 && (
        <>
          <h3>Parameters</h3>
          <dl class="facts">
            {parameters.map((parameter) => (
              <div key={`${parameter.in} ${parameter.name}`}>
                <dt>
                  {parameter.name} ({parameter.in}
                  {parameter.required ? ', required' : ''})
                </dt>
                <dd>
                  {typeText(parameter.schema ?? {})}. {parameter.description ?? parameter.schema?.description}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {body && <Shape title="Body" schema={body} description={description} />}
      <h3>Answers</h3>
      <dl class="facts">
        {Object.entries(operation.responses).map(([status, { description: text, content = {} }]) => (
          <div key={status}>
            <dt>{status}</dt>
            <dd>
              {text}{' '}
              {Object.entries(content).map(([type, { schema }]) => (
                <span key={type} class="hint">
                  {type} {schema && typeText(schema)}{' '}
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <TryIt entry={entry} />
    </section>
  );
}

function Shape({
  title,
  schema,
  description,
}: {
  title: string;
  schema: Schema;
  description: Description;
}): JSX.Element {
  const { title: name, properties = {}, required = [] } = resolved(schema, description);
  return (
    <>
      <h3>
        {title} {name}
      </h3>
      <dl class="facts">
        {Object.entries(properties).map(([field, one]) => (
          <div key={field}>
            <dt>
              {field}
              {required.includes(field) ? ' (required)' : ''}
            </dt>
            <dd>
              {typeText(one)}. {one.description ?? resolved(one, description).description}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
