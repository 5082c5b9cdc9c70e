// Preloaded into Azurite. It ends with the process that started it, however that ended; and it does without the packages for
// telemetry and for a database server, which we never turn on and which are two thirds of what it would install.
const { Module } = require('node:module');

process.once('disconnect', () => process.emit('message', 'shutdown'));
// Once its servers are closed, nothing else keeps it.
process.channel?.unref();

const unused = new Set(['applicationinsights', 'sequelize']);
const load = Module._load;
// Azurite only extends and names what is in them until it is told to use them.
const nothing = () =>
  new Proxy(class {}, {
    get: (real, name) => (name === 'then' || name in real ? real[name] : nothing()),
  });
Module._load = function (name, ...others) {
  return unused.has(name) ? nothing() : load.call(this, name, ...others);
};
