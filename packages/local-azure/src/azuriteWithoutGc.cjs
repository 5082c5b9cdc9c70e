// Preloaded to keep Azurite from collecting unused extents: it has no option for the interval.
const longest = 2 ** 31 - 1;
for (const service of ['blob', 'queue']) {
  require(`azurite/dist/src/${service}/utils/constants`).DEFAULT_GC_INTERVAL_MS = longest;
}
