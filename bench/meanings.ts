// What each row of the speed table means for a user, and why some miss their bar: the columns of docs/performance.md that
// no measurement can give.

export interface Meaning {
  text: string;
  /** Why the row misses where its measurement names no limit. */
  miss?: string;
}

export const MEANINGS: Readonly<Record<string, Meaning>> = {
  'P9-socket': { text: 'How long a terminal waits for the first byte of a command.' },
  'P9-ndjson': { text: 'The same for a streamed command over plain HTTP.' },
  P1: { text: 'The time until a new container sandbox is usable, against the engine by hand.' },
  P2: { text: 'The time from nothing to the output of the first command in a container.' },
  P3: { text: 'Spawn and first output when a template keeps containers ready (`prewarm`).' },
  P4: { text: 'A burst of 20 container sandboxes: how long the last one waits.' },
  P7: { text: 'A command in a container that already runs, against `docker exec`.' },
  P8: { text: 'A command that prints very much, such as a build log of 256 MB.' },
  'P10-write': { text: 'The upload of a 64 MB file into a container, against `docker cp`.' },
  'P10-read': { text: 'The download of a 64 MB file out of a container, against `docker cp`.' },
  'P20-bwrap': { text: 'A one-off command in a fresh userspace sandbox (bubblewrap).' },
  'P21-bwrap': { text: 'A command in a userspace sandbox that already runs (bubblewrap).' },
  'P20-unshare': { text: 'A one-off command in a fresh userspace sandbox (unshare).' },
  'P21-unshare': { text: 'A command in a userspace sandbox that already runs (unshare).' },
  P12: { text: 'What a small API request costs, against a Node server that does nothing.' },
  P13: { text: 'A list of 1,000 sandboxes, against writing the same JSON.' },
  P14: { text: 'How many spawns a second the database accepts, one after the other.' },
  'P14-parallel': { text: 'How much faster spawns are accepted when they arrive together.' },
  P15: { text: 'How soon a queued spawn starts after capacity is freed.' },
  'P15-flat': { text: 'Whether a long queue slows that down.' },
  P16: { text: 'How quickly a queue of 10,000 spawns moves.' },
  'P15-memory': { text: 'Memory of 10,000 clients that wait in the queue.' },
  'P15-ticket': { text: 'Memory of one queued spawn inside the server.' },
  'P25-idle': { text: 'What watching the expiry of 100,000 sandboxes costs while nothing is due.' },
  'P25-due': { text: 'How long other requests pause when 1,000 sandboxes expire together.' },
  P23: {
    text: 'A burst of events to 1,000 connected readers.',
    miss: 'each reader gets a write of its own after a check of its filter and its backlog; the baseline only writes.',
  },
  P24: { text: 'How late 1,000 readers see an event.' },
  'P23-stalled': { text: 'Memory that 200 readers cost who stop reading.' },
  'P22-idle': {
    text: 'Memory of a server that does nothing.',
    miss: 'it is the memory of Node, the database thread and the loaded code; the run before measured 112 MB and met the bar.',
  },
  'P22-rows': { text: 'How much memory 1,000 sandboxes add.' },
  'P22-session': { text: 'How much memory a sandbox in use adds.' },
  'P28-version': { text: 'How long the command line takes to start.' },
  'P28-version-certificates': { text: 'The same with `NODE_EXTRA_CA_CERTS`.' },
  'P28-lint': { text: 'How long a check of a configuration takes, for example in CI.' },
  'P28-lint-certificates': { text: 'The same with `NODE_EXTRA_CA_CERTS`.' },
  P36: { text: 'One command in a sandbox from the command line, against another sandbox tool.' },
  'P29-idle': { text: 'How long a verified backup of 100 MB takes.' },
  'P29-busy': { text: 'Whether a busy database slows a backup down.' },
  'P32-text': { text: 'What masking secrets in log text costs.' },
  'P32-structures': { text: 'What masking secrets in log records costs.' },
  'P32-hostile': { text: 'Whether a hostile text can make masking slow.' },
  'P34-get': { text: 'How much a hostile neighbour slows your small requests.' },
  'P34-exec': { text: 'How much a hostile neighbour slows your commands.' },
  'P35-bodies': { text: 'How long one hostile request can stop all others.' },
  'P35-answers': { text: 'How long one very large answer can stop all others.' },
  'P37-exec': {
    text: 'What a command costs more on a worker than on the server itself, with TLS between them.',
  },
  'P37-first-byte': { text: 'How much later a terminal on a worker answers a key.' },
  'P37-stalled': { text: 'How much a reader that stops reading delays the other streams of its sandbox.' },
  'P37-output': {
    text: 'A command on a worker that prints very much, against the same on the server itself.',
  },
  'P37-output-tls': { text: 'The same with TLS between server and worker.' },
  'P37-session': {
    text: 'How much memory a sandbox in use on a worker adds, to the server or to the worker.',
  },
  'P37-session-tls': { text: 'The same with TLS between server and worker.' },
  P17: { text: 'A virtual machine from its snapshot, against booting it, without KVM.' },
  'P17-debian': { text: 'The same with a Debian image.' },
  P18: { text: 'What our tuning of QEMU gains at a boot, without KVM.' },
  P19: { text: 'Memory of one more virtual machine that waits.' },
  'P19-used': { text: 'Memory of one more virtual machine that has run a command.' },
};
