// Writes beside the bundle named what V8 makes of it while it checks the configuration that belongs to the source (bin/bundle.js).
const { rmSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { CACHE, run, scriptOf } = require('../bin/bundle.js');
const { version } = require('../package.json');

const [, , path = ''] = process.argv;
const root = dirname(__dirname);
rmSync(path + CACHE, { force: true });
const script = scriptOf(path);
run(script, path).lintQuickly(['--file', join(root, 'svc.yaml')], root, version);
writeFileSync(path + CACHE, script.createCachedData());
