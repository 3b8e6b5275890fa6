// An agent loop: a model proposes code, the sandbox runs it, the model reads the output, until it answers.
import { Client } from '@svc-sandbox/client';

interface Turn {
  code: string;
  output: string;
}
type Step = { code: string } | { answer: string };

/** Stands for a call of your model: gets the task and what happened so far. */
async function model(_task: string, turns: readonly Turn[]): Promise<Step> {
  const last = turns.at(-1);
  if (!last) return { code: 'print(sum(range(1, 101))' };
  if (last.output.includes('SyntaxError')) return { code: 'print(sum(range(1, 101)))' };
  return { answer: last.output.trim() };
}

const client = new Client({
  server: process.env.SVC_SERVER ?? 'http://127.0.0.1:7423',
  apiKey: process.env.SVC_API_KEY ?? '',
});
// The code is a stranger's: no network, and an end whatever happens to this program.
await using sandbox = await client.create({ ttl: '5m', network: 'none' });
const turns: Turn[] = [];
for (let left = 5; left > 0; left -= 1) {
  const step = await model('the sum of 1 to 100', turns);
  if ('answer' in step) {
    console.log(`after ${turns.length} runs: ${step.answer}`);
    break;
  }
  const { stdout, stderr } = await sandbox.exec('python3 -', { stdin: step.code, timeout: '20s' });
  turns.push({ code: step.code, output: stdout + stderr });
}
