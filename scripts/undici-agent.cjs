// What the client uses of undici; the package as a whole reads fetch, cookies, caches and mocks with it.
const Dispatcher = require('undici/lib/dispatcher/dispatcher.js');
Dispatcher.prototype.request = require('undici/lib/api/api-request.js');
exports.Agent = require('undici/lib/dispatcher/agent.js');
