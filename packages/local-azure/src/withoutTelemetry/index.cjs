// Azurite loads this, and uses it only if telemetry is enabled.
module.exports = {};
