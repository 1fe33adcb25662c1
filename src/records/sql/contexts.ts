/** Contexts of orgs in SQL (G1): immutable versions, and one pointer per context that moves by one. */
import type { Kysely, Transaction } from "kysely";
import type { ContextVersion, ContextVersionFacts } from "../../domain/context.ts";
import type { ContextName, ContextPut, ContextRecords } from "../contexts.ts";
import type { RememberedState } from "../turns.ts";
import { plain, plainList, runPlain, type PlainSql } from "./plain/plain-sql.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { ContextVersionRow, Tables } from "./tables.ts";

type ContextFactsRow = Pick<ContextVersionRow, (typeof facts)[number]>;
const facts = ["org_id", "kind", "id", "version", "created_at", "created_by", "is_retired"] as const;

export function contextRecords(db: Kysely<Tables>, dialect: SqlDialect): ContextRecords {
  return {
    putVersion: (version) => db.transaction().execute((tx) => put(tx, version)),
    async listNewest(orgId) {
      // Every turn asks this.
      const { rows } = await runPlain<ContextFactsRow>(
        db,
        dialect,
        plain`
          select v.org_id, v.kind, v.id, v.version, v.created_at, v.created_by, v.is_retired from contexts c
          join context_versions v on v.org_id = c.org_id and v.kind = c.kind and v.id = c.id and v.version = c.version
          where c.org_id = ${orgId} order by v.kind, v.id`,
      );
      return rows.map(rowToFacts);
    },
    async listCurrent(orgId) {
      const rows = await newest(db, orgId).selectAll("v").where("v.is_retired", "=", 0).execute();
      return rows.map(rowToVersion);
    },
    async getVersion({ version, ...name }) {
      const row = await versionsOf(db, name).selectAll().where("version", "=", version).executeTakeFirst();
      return row === undefined ? null : rowToVersion(row);
    },
    async listVersions(name, { before, limit }) {
      let query = versionsOf(db, name).select(facts).orderBy("version", "desc").limit(limit);
      if (before !== undefined) query = query.where("version", "<", before);
      return (await query.execute()).map(rowToFacts);
    },
  };
}

/** A condition: the org has no newer versions of contexts than these. */
export function areNewestContexts({ orgId, contexts }: Pick<RememberedState, "orgId" | "contexts">): PlainSql {
  const known = contexts.map(({ kind, id, version }) => plain`(${kind}, ${id}, ${version})`);
  const isNew = known.length === 0 ? plain`` : plain`and (kind, id, version) not in (${plainList(known)})`;
  return plain`not exists (select 1 from contexts where org_id = ${orgId} ${isNew})`;
}

function newest(db: Kysely<Tables>, orgId: string) {
  return db
    .selectFrom("contexts as c")
    .innerJoin("context_versions as v", (join) =>
      join
        .onRef("v.org_id", "=", "c.org_id")
        .onRef("v.kind", "=", "c.kind")
        .onRef("v.id", "=", "c.id")
        .onRef("v.version", "=", "c.version"),
    )
    .where("c.org_id", "=", orgId);
}

function versionsOf(db: Kysely<Tables>, { orgId, kind, id }: ContextName) {
  return db.selectFrom("context_versions").where("org_id", "=", orgId).where("kind", "=", kind).where("id", "=", id);
}

/** Moves the pointer first. The process that moves it writes the version; any other process finds it moved and is refused. */
async function put(tx: Transaction<Tables>, version: ContextVersion): Promise<ContextPut> {
  if (!(await movePointer(tx, version))) {
    const { orgId, kind, id } = version;
    const found = await tx
      .selectFrom("contexts")
      .select("version")
      .where("org_id", "=", orgId)
      .where("kind", "=", kind)
      .where("id", "=", id)
      .executeTakeFirst();
    return { outcome: "changed", newest: found?.version ?? 0 };
  }
  await tx.insertInto("context_versions").values(versionToRow(version)).execute();
  return { outcome: "stored" };
}

async function movePointer(tx: Transaction<Tables>, { orgId, kind, id, version }: ContextVersion): Promise<boolean> {
  if (version === 1) {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto("contexts")
      .values({ org_id: orgId, kind, id, version })
      .onConflict((conflict) => conflict.columns(["org_id", "kind", "id"]).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }
  const { numUpdatedRows } = await tx
    .updateTable("contexts")
    .set({ version })
    .where("org_id", "=", orgId)
    .where("kind", "=", kind)
    .where("id", "=", id)
    .where("version", "=", version - 1)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

function versionToRow(version: ContextVersion): ContextVersionRow {
  return {
    org_id: version.orgId,
    kind: version.kind,
    id: version.id,
    version: version.version,
    created_at: version.createdAt,
    created_by: version.createdBy,
    is_retired: version.content === null ? 1 : 0,
    doc: JSON.stringify(version.content),
  };
}

function rowToFacts(row: Omit<ContextVersionRow, "doc">): ContextVersionFacts {
  return {
    orgId: row.org_id,
    kind: row.kind,
    id: row.id,
    version: row.version,
    createdAt: row.created_at,
    createdBy: row.created_by,
    isRetired: row.is_retired === 1,
  };
}

function rowToVersion({ doc, ...row }: ContextVersionRow): ContextVersion {
  const { isRetired: _isRetired, ...known } = rowToFacts(row);
  return { ...known, content: JSON.parse(doc) as ContextVersion["content"] };
}
