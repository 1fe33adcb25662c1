/**
 * Version 3 of the records in SQLite: what is written at the end of a turn is one content (K6): its words, which the search reads,
 * and the rest in packed form. They are two tables, because more of their rows fit into a page. The texts of older turns become
 * words; their rows and steps stay as they are. `texts` is now a view, so the search is the same in every engine. `blobs` has
 * the blobs of running turns, and those that belong to no turn, where the blobs are in the database too (K5).
 */
export const contentsTables = [
  `create table words (
    id integer primary key autoincrement,
    instruction text not null,
    answer text not null,
    folded_instruction text,
    folded_answer text
  )`,
  `create table contents (
    id integer primary key references words (id),
    seed_id integer,
    sealed blob not null,
    blobs blob
  )`,
  `alter table turns add column content_id integer`,
  `insert into words (id, instruction, answer, folded_instruction, folded_answer)
    select t.rowid, x.instruction, x.answer, x.folded_instruction, x.folded_answer
    from texts x join turns t on t.session_id = x.session_id and t.sequence = x.sequence`,
  `update turns set content_id = rowid where rowid in (select id from words)`,
  `drop table texts`,
  `create view texts as
    select t.session_id, t.sequence, w.instruction, w.answer, w.folded_instruction, w.folded_answer
    from turns t join words w on w.id = t.content_id`,
  `create table blobs (key text not null primary key, frame blob not null)`,
];
