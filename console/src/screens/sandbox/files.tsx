// The files of a sandbox: one folder at a time, text that can be read and changed, downloads and uploads.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FileInfo, FileLink } from '../../../../src/schema/file.ts';
import { addressOf, call, json } from '../../api/call.ts';
import { place, setQuery } from '../../app/router.ts';
import { Dialog, type DialogProps } from '../../parts/dialog.tsx';
import { Failed, Show, useGet } from '../../parts/load.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { shown, sizeText, Time } from '../../parts/text.tsx';
import { FileView } from './file-view.tsx';
import type { TabProps } from './sandbox.tsx';

const FIRST = '/workspace';

export const fileCall = (id: string, path: string): string =>
  `sandboxes/${id}/files/${path.replace(/^\//, '').split('/').map(encodeURIComponent).join('/')}`;

const join = (folder: string, name: string) => `${folder.replace(/\/$/, '')}/${name}`;

export function Files({ id }: TabProps): JSX.Element {
  const path = place.value.query.get('path') ?? FIRST;
  const open = place.value.query.get('file') ?? undefined;
  const loaded = useGet<FileInfo[]>(`sandboxes/${id}/files/list`, { path, depth: 1 });
  const [dialog, setDialog] = useState<Omit<DialogProps, 'onClose'> | undefined>();
  const [failure, setFailure] = useState<Error | undefined>();
  const [progress, setProgress] = useState('');
  const tried = async (work: () => Promise<unknown>) => {
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      setFailure(error as Error);
    }
    setProgress('');
    loaded.again();
  };
  const upload = (files: FileList | null) =>
    tried(async () => {
      for (const file of files ?? []) {
        setProgress(`Uploading ${shown(file.name)} …`);
        const headers = { 'Content-Type': 'application/octet-stream' };
        await call('PUT', fileCall(id, join(path, file.name)), { body: file, headers });
      }
    });
  if (open !== undefined)
    return <FileView id={id} path={open} onClose={() => setQuery({ file: undefined })} />;
  const columns = columnsOf({
    enter: (folder) => setQuery({ path: folder }),
    open: (file) => setQuery({ file }),
    download: (file) => void tried(() => download(id, file.path)),
    change: (file) => setDialog(rename(id, file, loaded.again)),
    remove: (file) => setDialog(removal(id, file, loaded.again)),
  });
  return (
    <>
      <div class="filters">
        <Crumbs path={path} onOpen={(folder) => setQuery({ path: folder })} />
        <span class="grow" />
        <button type="button" onClick={() => setDialog(newFolder(id, path, loaded.again))}>
          New folder
        </button>
        <button type="button" onClick={() => void tried(() => download(id, path))}>
          Download folder
        </button>
        <label class="button">
          Upload
          <input
            class="visually-hidden"
            type="file"
            multiple
            onChange={(event) => void upload(event.currentTarget.files)}
          />
        </label>
      </div>
      {progress && <p role="status">{progress}</p>}
      {failure && <Failed failure={failure} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping a file is a second path beside the button. */}
      <div
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void upload(event.dataTransfer?.files ?? null);
        }}
      >
        <Show of={loaded}>
          {(rows) => (
            <Table
              label={`Files in ${shown(path)}`}
              rows={rows}
              columns={columns}
              keyOf={(file) => file.path}
              empty={<p>This folder is empty. Drop files here to upload them.</p>}
            />
          )}
        </Show>
      </div>
      {dialog && <Dialog {...dialog} onClose={() => setDialog(undefined)} />}
    </>
  );
}

function Crumbs({ path, onOpen }: { path: string; onOpen(path: string): void }): JSX.Element {
  const parts = path.split('/').filter(Boolean);
  return (
    <nav aria-label="Folder" class="crumbs">
      <button type="button" class="link" onClick={() => onOpen('/')}>
        /
      </button>
      {parts.map((part, at) => {
        const folder = `/${parts.slice(0, at + 1).join('/')}`;
        return (
          <button type="button" class="link" key={folder} onClick={() => onOpen(folder)}>
            {shown(part)}
            {at < parts.length - 1 ? ' /' : ''}
          </button>
        );
      })}
    </nav>
  );
}

interface Actions {
  enter(path: string): void;
  open(path: string): void;
  download(file: FileInfo): void;
  change(file: FileInfo): void;
  remove(file: FileInfo): void;
}

function columnsOf({ enter, open, download, change, remove }: Actions): readonly Column<FileInfo>[] {
  const small = (text: string, name: string, act: () => void) => (
    <button type="button" class="small" aria-label={`${text} ${shown(name)}`} onClick={act}>
      {text}
    </button>
  );
  return [
    {
      id: 'name',
      title: 'Name',
      width: 'minmax(12rem, 3fr)',
      value: ({ name, is_dir }) => `${is_dir ? '0' : '1'}${name}`,
      cell: ({ name, path, is_dir, type }) => (
        <button
          type="button"
          class="link"
          disabled={type === 'other'}
          onClick={() => (is_dir ? enter(path) : open(path))}
        >
          {is_dir ? '▸ ' : ''}
          {shown(name)}
        </button>
      ),
    },
    {
      id: 'size',
      title: 'Size',
      width: '7rem',
      value: ({ size }) => size,
      cell: ({ size, is_dir }) => (is_dir ? '' : sizeText(size)),
    },
    { id: 'mode', title: 'Mode', width: '6rem', cell: ({ mode }) => <code>{mode}</code> },
    {
      id: 'time',
      title: 'Changed',
      width: '8rem',
      value: ({ mod_time }) => mod_time,
      cell: ({ mod_time }) => <Time at={mod_time} />,
    },
    {
      id: 'do',
      title: 'Actions',
      width: '16rem',
      cell: (file) => (
        <>
          {!file.is_dir && small('Download', file.name, () => download(file))}{' '}
          {small('Change', file.name, () => change(file))} {small('Delete', file.name, () => remove(file))}
        </>
      ),
    },
  ];
}

/** The browser fetches a file or folder by a link that is good once: nothing of it is kept in the memory of the page. */
async function download(id: string, path: string): Promise<void> {
  const { url } = await json<FileLink>('POST', `sandboxes/${id}/files/link`, { body: { path } });
  const anchor = document.createElement('a');
  anchor.href = new URL(url, addressOf('')).href;
  anchor.download = '';
  anchor.click();
}

function newFolder(id: string, path: string, again: () => void): Omit<DialogProps, 'onClose'> {
  return {
    ...{
      title: 'New folder',
      action: 'Make folder',
      fields: [{ name: 'name', label: 'Name', required: true }],
    },
    run: async ({ name = '' }) => {
      await json('POST', `sandboxes/${id}/files/mkdir`, { body: { path: join(path, name) } });
      again();
    },
  };
}

function rename(id: string, file: FileInfo, again: () => void): Omit<DialogProps, 'onClose'> {
  return {
    ...{ title: `Change ${file.name}`, action: 'Change' },
    fields: [
      { name: 'name', label: 'Path', value: file.path, required: true },
      {
        name: 'mode',
        label: 'Mode',
        value: file.mode.replace(/^0(?=\d{3,4}$)/, ''),
        hint: 'In octal digits, for example 644.',
      },
    ],
    run: async ({ name = '', mode = '' }) => {
      if (mode !== '' && mode !== file.mode.replace(/^0(?=\d{3,4}$)/, ''))
        await json('POST', `sandboxes/${id}/files/chmod`, { body: { path: file.path, mode } });
      if (name !== file.path)
        await json('POST', `sandboxes/${id}/files/move`, { body: { old_path: file.path, new_path: name } });
      again();
    },
  };
}

function removal(id: string, file: FileInfo, again: () => void): Omit<DialogProps, 'onClose'> {
  const facts = file.is_dir
    ? { confirm: file.name, text: 'The folder and all that is in it are lost.' }
    : { text: 'The file is lost.' };
  return {
    ...{ title: `Delete ${file.path}`, action: 'Delete', danger: true },
    ...facts,
    run: async () => {
      await call('DELETE', `sandboxes/${id}/files`, { query: { path: file.path, recursive: file.is_dir } });
      again();
    },
  };
}
