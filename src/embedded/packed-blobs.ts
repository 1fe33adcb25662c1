/** The blobs of finished turns, which are in the contents of these turns. */
import type { Kysely } from "kysely";
import { damagedBlob } from "./blob-frame.ts";
import type { Contents } from "../records/sql/sqlite/sealed/contents.ts";
import type { ContentRow } from "../records/sql/sqlite/sealed/content-row.ts";
import type { SqliteEngine } from "../records/sql/sqlite/sqlite.ts";
import type { Tables } from "../records/sql/tables.ts";

/** How many contents are listed at once. */
const contentsPerPage = 500;

export class PackedBlobs {
  readonly #db: Kysely<Tables>;
  readonly #contents: Contents;

  constructor({ db, dialect }: SqliteEngine) {
    this.#db = db;
    this.#contents = dialect.ends.contents;
  }

  /** Yields the finished turns whose blobs may begin with the prefix. */
  async *turns(prefix: string): AsyncGenerator<{ id: string; names: string[] }> {
    const whole = folderOf("");
    if (!prefix.startsWith(whole) && !whole.startsWith(prefix)) return;
    const [turnId, isOne] = [prefix.slice(whole.length).split("/")[0] ?? "", prefix.slice(whole.length).includes("/")];
    for (let after = ""; ;) {
      let page = this.#db
        .selectFrom("turns as t")
        .innerJoin("contents as c", "c.id", "t.content_id")
        .select(["t.id", "c.id as content", "c.blobs"])
        .where("c.blobs", "is not", null);
      page = isOne ? page.where("t.id", "=", turnId) : page.where("t.id", ">", after).where("t.id", ">=", turnId);
      const rows = await page.orderBy("t.id").limit(contentsPerPage).execute();
      for (const { id, content, blobs } of rows) {
        yield { id, names: this.#namesIn(content, blobs ?? Buffer.alloc(0)) };
      }
      after = rows.at(-1)?.id ?? "";
      if (isOne || rows.length < contentsPerPage) return;
    }
  }

  /** A damaged pack has no names, and is found when a blob of it is read. It is deleted with its turn. */
  #namesIn(content: number, blobs: Uint8Array): string[] {
    try {
      return this.#contents.packOf(content, blobs).members.map(({ name }) => name);
    } catch {
      return [];
    }
  }

  async has(turnId: string): Promise<boolean> {
    return (await contentOf(this.#db, turnId)) !== null;
  }

  /** Returns a blob of a finished turn. Null: there is no such blob. */
  async find(db: Kysely<Tables>, key: string): Promise<PackedBlob | null> {
    const [folder, turnId, ...rest] = key.split("/");
    const name = rest.join("/");
    if (folder !== "turns" || turnId === undefined || name === "") return null;
    const id = await contentOf(db, turnId);
    if (id === null) return null;
    try {
      return packedBlob(this.#contents, this.#contents.find(id), { key, name });
    } catch (error) {
      throw damagedBlob(key, error);
    }
  }
}

/** Returns the content that has the blobs of a turn. */
async function contentOf(db: Kysely<Tables>, turnId: string): Promise<number | null> {
  const row = await db
    .selectFrom("turns as t")
    .innerJoin("contents as c", "c.id", "t.content_id")
    .select("c.id")
    .where("t.id", "=", turnId)
    .where("c.blobs", "is not", null)
    .executeTakeFirst();
  return row?.id ?? null;
}

export interface PackedBlob {
  packedLength: number;
  read(): Promise<Buffer>;
  /** Reads the bytes in the pack itself, and no others. `known` are contents that exist. Throws `blob_damaged`. */
  check(known: Set<number>): Promise<void>;
}

function packedBlob(
  contents: Contents,
  content: ContentRow,
  { key, name }: { key: string; name: string },
): PackedBlob | null {
  const stored = contents.pack(content);
  const place = stored.find(name);
  if (place === null) return null;
  const packedLength = stored.members.find((member) => member.name === name)?.packedLength ?? 0;
  const named = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw damagedBlob(key, error);
    }
  };
  return {
    packedLength,
    read: () =>
      named(async () => {
        if (place === "state") return await contents.state(content);
        return (await contents.others(content)).subarray(place.start, place.end);
      }),
    check: (known) =>
      named(async () => {
        if (place === "state") await contents.checkState(content, known);
        else await contents.others(content);
      }),
  };
}

export function folderOf(turnId: string): string {
  return turnId === "" ? "turns/" : `turns/${turnId}/`;
}
