/** The table of summaries (M5). Most columns are found by; the summary itself is JSON in `doc`. */
export function summaryTables(id: string): string[] {
  return [
    `create table summaries (
      id ${id} not null primary key,
      org_id ${id} not null,
      session_id ${id} not null,
      through_turn_id ${id} not null,
      status text not null,
      created_at bigint not null,
      runner_id ${id},
      lease_expires_at bigint,
      is_stopping integer not null,
      folded_text text not null,
      doc text not null
    )`,
    `create unique index summaries_making on summaries (session_id) where status = 'pending'`,
    `create index summaries_by_session on summaries (session_id, created_at, id)`,
    `create index summaries_by_turn on summaries (through_turn_id)`,
    `create index summaries_by_org on summaries (org_id, created_at)`,
  ];
}
