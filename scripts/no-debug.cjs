// Stands for the package `debug` in the bundle of commands, where nothing is to be printed.
const none = Object.assign(() => {}, { enabled: false, extend: () => none });
module.exports = () => none;
