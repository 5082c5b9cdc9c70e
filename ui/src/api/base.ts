/** Where this page lives, like `/api/ops/ui`, and the calls beside it, like `/api/ops`. */
export const pageBase = /^.*?\/ops\/ui(?=\/|$)/.exec(location.pathname)?.[0] ?? '/api/ops/ui';
export const apiBase = pageBase.slice(0, -'/ui'.length);
