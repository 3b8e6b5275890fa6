// Writes beside the bundle named what V8 makes of it while a command runs against a server that has nothing (bin/bundle.js).
const { rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { dirname, join } = require('node:path');
const { CACHE, run, scriptOf } = require('../bin/bundle.js');

const [, , path = ''] = process.argv;
rmSync(path + CACHE, { force: true });
const server = createServer((_, answer) => answer.setHeader('content-type', 'application/json').end('[]'));
server.listen(0, '127.0.0.1', async () => {
  const script = scriptOf(path);
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.argv.splice(2, 1, 'sandbox', 'list', '--json', '--server', `http://127.0.0.1:${address.port}`);
  const manifest = require(join(dirname(path), 'sandbox.list.json'));
  await run(script, path).main(dirname(__dirname), require('../package.json'), manifest);
  writeFileSync(path + CACHE, script.createCachedData());
  server.close();
  server.closeAllConnections();
});
