// The share of Node in a command of the client, for rows that compare it with programs that are compiled.
import { medianOf } from './stats.ts';
import { wallTime } from './wall-time.ts';

const GOES = 15;

const TRIED =
  'Four designs were tried: all commands in one file with the code cache of V8, and what oclif knows of one command instead of all, which together brought a list from 108 to 67 ms; then 20 fewer parts of Node, which took a twentieth off its processor time, and neither schemas nor the assertions of Node, which took another.';

/** What no command of ours can take less than; Docker's client is compiled. */
export async function startOfNode(root: string, home: string): Promise<string> {
  const bare = await medianOf(GOES, () => wallTime(root, ['-e', '0'], { HOME: home }));
  const version = await medianOf(GOES, () => wallTime(root, ['bin/svc.js', '--version'], { HOME: home }));
  return `Node alone takes ${bare.toFixed(0)} ms to start and end, and our program ${version.toFixed(0)} ms to print its version; Docker's client is compiled. ${TRIED}`;
}
