// A process that measures the rows of one group and sends them as they end.
import { GROUPS } from './groups.ts';
import { type GroupMessage, measureHere } from './measure-group.ts';

const asked = JSON.parse(process.argv[2] ?? '') as { root: string; group: string; ids: string[] };
const group = GROUPS.find(({ ids }) => ids[0] === asked.group);
if (!group) throw new Error(`no group begins with ${asked.group}`);

const stopped = new AbortController();
const stop = () => stopped.abort(new Error('the bench was stopped'));
// Ctrl-C on a terminal reaches the entire process group; the parent disconnects then.
process.on('SIGINT', () => {}).once('SIGTERM', stop);
process.once('disconnect', stop);

const send = (message: GroupMessage) => void (process.connected && process.send?.(message));
try {
  await measureHere(group, {
    root: asked.root,
    ids: asked.ids,
    signal: stopped.signal,
    started: (started) => send({ started }),
    ended: (row) => send({ row }),
  });
} catch (error) {
  send({ broke: String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? '' });
}
if (process.connected) process.disconnect();
