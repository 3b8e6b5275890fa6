// One file: text that can be changed up to 256 KiB, the first bytes of all others.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FileInfo } from '../../../../src/schema/file.ts';
import { call, get } from '../../api/call.ts';
import { Failed } from '../../parts/load.tsx';
import { LogBox } from '../../parts/log-box.tsx';
import { shown, sizeText } from '../../parts/text.tsx';
import { fileCall } from './files.tsx';

const MOST_TEXT = 256 * 1024;
const MOST_BYTES = 4096;

interface Content {
  info: FileInfo;
  /** Undefined for what is not text, or too long. */
  text?: string;
  bytes: Uint8Array;
}

export function FileView({ id, path, onClose }: { id: string; path: string; onClose(): void }): JSX.Element {
  const [content, setContent] = useState<Content | undefined>();
  const [draft, setDraft] = useState<string | undefined>();
  const [failure, setFailure] = useState<Error | undefined>();
  const [saved, setSaved] = useState('');
  const read = () => contentOf(id, path).then(setContent, setFailure);
  useEffect(() => void read(), [id, path]);
  const write = async () => {
    if (draft === undefined || !content) return;
    setFailure(undefined);
    try {
      await refuseChanged(id, content.info);
      const headers = { 'Content-Type': 'application/octet-stream' };
      await call('PUT', fileCall(id, path), { body: new Blob([draft]), headers });
      setDraft(undefined);
      setSaved('Saved.');
      await read();
    } catch (error) {
      setFailure(error as Error);
    }
  };
  return (
    <>
      <div class="filters">
        <button type="button" onClick={onClose}>
          Back to the folder
        </button>
        <code>{shown(path)}</code>
        <span class="grow" />
        {content && <span>{sizeText(content.info.size)}</span>}
        {content?.text !== undefined && (
          <button type="button" class="primary" disabled={draft === undefined} onClick={() => void write()}>
            Save
          </button>
        )}
        <span role="status">{saved}</span>
      </div>
      {failure && <Failed failure={failure} />}
      {content?.text !== undefined ? (
        <textarea
          class="editor"
          aria-label={`Content of ${shown(path)}`}
          spellcheck={false}
          value={draft ?? content.text}
          onInput={(event) => {
            setSaved('');
            setDraft(event.currentTarget.value);
          }}
        />
      ) : (
        content && <Hex bytes={content.bytes} size={content.info.size} />
      )}
    </>
  );
}

async function contentOf(id: string, path: string): Promise<Content> {
  const info = await get<FileInfo>(`sandboxes/${id}/files/stat`, { path });
  const headers: Record<string, string> = { Accept: 'application/octet-stream' };
  if (info.size > MOST_TEXT) headers.Range = `bytes=0-${MOST_BYTES - 1}`;
  const bytes =
    info.size === 0
      ? new Uint8Array()
      : new Uint8Array(
          await (await call('GET', `sandboxes/${id}/files`, { query: { path }, headers })).arrayBuffer(),
        );
  if (info.size > MOST_TEXT) return { info, bytes };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? { info, bytes } : { info, bytes, text };
  } catch {
    return { info, bytes };
  }
}

/** Throws when the file is not the one that was read. */
async function refuseChanged(id: string, info: FileInfo): Promise<void> {
  const now = await get<FileInfo>(`sandboxes/${id}/files/stat`, { path: info.path });
  if (now.mod_time === info.mod_time && now.size === info.size) return;
  throw new Error('The file changed since you opened it. Copy your text, open the file again, then save.');
}

function Hex({ bytes, size }: { bytes: Uint8Array; size: number }): JSX.Element {
  const rows: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, MOST_BYTES); at += 16) {
    const part = [...bytes.subarray(at, at + 16)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    rows.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(48)} ${text}`);
  }
  return (
    <>
      <p class="hint">
        {size > MOST_TEXT ? 'The file is longer than the editor takes.' : 'The file is not text.'} These are
        its first bytes.
      </p>
      <LogBox label="Bytes of the file" text={rows.join('\n')} />
    </>
  );
}
