// Stands in for packages that a dependency lists and nothing here loads: azurite's telemetry and database servers, the part of
// @azure/identity for browsers, the file system of another runtime that tar-fs may run on.
module.exports = {};
