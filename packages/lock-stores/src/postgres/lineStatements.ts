import { lastFence, postgresNowMs } from './advisoryStatements.ts';

/**
 * The statements that take a row in one request, and those of the waiters, whose places are rows of a second table. `$1` is the id of
 * the lock. They find free rows only if nobody else has locked them: a row that a transaction holds is not waited for.
 */
export function lineStatements(table: string, line: string) {
  const now = 'clock_timestamp()';
  const later = (ms: string) => `${now} + ${ms}::float8 * interval '1 millisecond'`;
  const first = `select ticket from ${line} where id = $1 and kept_until > ${now} order by asked, ticket limit 1`;
  /** $2: lease id, $3: milliseconds, $4: key, $5: lower bound of the fence, $6: record behind its fence or null, $7: version. */
  const taking = (turn: string) => `
    with first as materialized (${first}),
    floor as materialized (select greatest(${postgresNowMs}::bigint, $5::bigint + 1) as fence),
    free as materialized (
      select id, greatest(${lastFence} + 1, floor.fence) as fence
      from ${table}, floor
      where id = $1 and (lease_id = $2 and ends_at > ${now} or (ends_at is null or ends_at <= ${now}) and ${turn})
      for update of ${table} skip locked
    ),
    again as (
      update ${table} set lease_id = $2, ends_at = ${later('$3')},
        version = case when $6::text is null then version else $7 end,
        record = case when $6 is null then record else '{"fence":' || free.fence || $6 end
      from free where ${table}.id = free.id returning free.fence
    ),
    anew as (
      insert into ${table} (id, lock_key, lease_id, ends_at, version, record)
      select $1, $4, $2, ${later('$3')}, $7, '{"fence":' || fence || $6
      from floor where not exists (select from ${table} where id = $1)
      on conflict do nothing returning 1
    ),
    taken as (select fence from again union all select fence from floor where exists (select from anew))`;

  return {
    schema: [
      `create table if not exists ${table} (
  id bytea primary key,
  lock_key text not null,
  lease_id text,
  ends_at timestamptz,
  version text not null,
  record text
)`,
      `create table if not exists ${line} (
  id bytea not null,
  ticket text not null,
  asked timestamptz not null default ${now},
  kept_until timestamptz not null,
  primary key (id, ticket)
)`,
    ],
    /** $2: key, $3: record behind its fence, $4: version. The lock of the row lasts as long as the transaction. */
    takeInTransaction: `
    with floor as materialized (select ${postgresNowMs}::bigint as fence),
    free as materialized (
      select id, greatest(${lastFence} + 1, floor.fence) as fence from ${table}, floor
      where id = $1 and (ends_at is null or ends_at <= ${now}) for update of ${table} skip locked
    ),
    again as (
      update ${table} set version = $4, record = '{"fence":' || free.fence || $3
      from free where ${table}.id = free.id returning free.fence
    ),
    anew as (
      insert into ${table} (id, lock_key, version, record) select $1, $2, $4, '{"fence":' || fence || $3
      from floor where not exists (select from ${table} where id = $1)
      on conflict do nothing returning 1
    ),
    taken as (select fence from again union all select fence from floor where exists (select from anew))
    select fence from taken`,
    /** Refused outside of a transaction, and of no effect in one: whatever reads the table does the same. */
    onlyInTransaction: `lock table ${table} in access share mode`,
    take: `${taking('not exists (select from first)')} select fence from taken`,
    /** $8: ticket, $9: milliseconds for which its place is kept. */
    takeInLine: `${taking('not exists (select from first where ticket <> $8)')},
    left_line as (
      delete from ${line} where id = $1 and (ticket = $8 or kept_until <= ${now}) and exists (select from taken)
    ),
    joined as (
      insert into ${line} (id, ticket, kept_until) select $1, $8, ${later('$9')} where not exists (select from taken)
      on conflict (id, ticket) do update set kept_until = excluded.kept_until
    )
    select fence from taken`,
    /** $2: lease id, $3: prefix of channels. A ticket begins with the channel on which its process listens. */
    release: `
    with freed as (
      update ${table} set lease_id = null, ends_at = null
      where id = $1 and lease_id = $2 and ends_at > ${now} returning id
    ),
    called as (
      select pg_notify($3 || split_part(ticket, '/', 1), ticket) as told
      from (${first}) as next where exists (select from freed)
    )
    select id, (select count(told) from called) from freed`,
    /** $2: ticket, $3: prefix of channels. Calls the next one, who may be first now. */
    leave: `
    with gone as (delete from ${line} where id = $1 and ticket = $2 returning ticket)
    select pg_notify($3 || split_part(ticket, '/', 1), ticket)
    from ${line} where id = $1 and ticket <> $2 and kept_until > ${now} order by asked, ticket limit 1`,
  };
}
