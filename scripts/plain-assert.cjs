// What undici uses of `node:assert` in the bundle of commands: Node reads four parts of itself for the rest.
module.exports = (holds, message) => {
  if (!holds) throw message instanceof Error ? message : new Error(message ?? 'An assertion of undici failed.');
};
