// A development server in a sandbox: started in the background, asked through the service, and shown a changed file.
import { Client } from '@svc-sandbox/client';

const PORT = 8000;
const client = new Client({
  server: process.env.SVC_SERVER ?? 'http://127.0.0.1:7423',
  apiKey: process.env.SVC_API_KEY ?? '',
});
await using sandbox = await client.create({ ttl: '10m' });
await sandbox.files.write('/workspace/index.html', '<h1>first</h1>');
await sandbox.execs.detach({
  command: `exec python3 -m http.server ${PORT} --bind 127.0.0.1`,
  workdir: '/workspace',
});
await sandbox.waitForPort(PORT);
console.log(await (await sandbox.fetch(PORT)).text());
await sandbox.files.write('/workspace/index.html', '<h1>second</h1>');
console.log(await (await sandbox.fetch(PORT)).text());

// For a browser, where the server has a preview domain.
if (sandbox.record?.preview_domain !== undefined)
  console.log(new URL((await sandbox.preview(PORT)).url).hostname.startsWith(`${PORT}-sb-`));
