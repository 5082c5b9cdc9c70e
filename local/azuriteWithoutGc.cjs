// Loaded before Azurite where its collection of unused extents is not wanted: no option of Azurite changes how often it comes.
const longest = 2 ** 31 - 1;
for (const service of ['blob', 'queue']) {
  require(`azurite/dist/src/${service}/utils/constants`).DEFAULT_GC_INTERVAL_MS = longest;
}
