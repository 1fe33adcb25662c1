/** The room that turns take in the stores, by kind (B7). */
import type { Turn } from "../../../domain/turn.ts";
import type { SizeByKind, TurnSize } from "../../api/history-size.ts";
import type { EngineDependencies } from "../../dependencies.ts";

export const kinds = ["opening", "requests", "run", "state", "input", "rows", "texts", "other"] as const;

/** The beginnings of the names of a turn's blobs (docs/formats/conversation.md). */
const kindsByName: Record<string, (typeof kinds)[number]> = {
  opening: "opening",
  request: "requests",
  run: "run",
  state: "state",
  part: "input",
};

function kindOf(key: string): (typeof kinds)[number] {
  const name = key.split("/").at(-1) ?? "";
  return kindsByName[/^[a-z]+/.exec(name)?.[0] ?? ""] ?? "other";
}

export function noKinds(): SizeByKind {
  return { opening: 0, requests: 0, run: 0, state: 0, input: 0, rows: 0, texts: 0, other: 0 };
}

/** Returns the room that these turns take, with all blobs in their folders. */
export async function turnSizes(deps: EngineDependencies, turns: readonly Turn[]): Promise<TurnSize[]> {
  const room = await deps.records.storage.turnRoom(turns.map(({ id }) => id));
  const rooms = new Map(room.map((each) => [each.turnId, each]));
  return await Promise.all(
    turns.map(async ({ id, sequence }) => {
      const size: TurnSize = { turnId: id, sequence, bytes: 0, requestBytes: 0, byKind: noKinds() };
      const { row = 0, texts = 0 } = rooms.get(id) ?? {};
      Object.assign(size.byKind, { rows: row, texts });
      for (const key of await deps.blobs.list(`turns/${id}/`)) {
        size.byKind[kindOf(key)] += (await deps.blobs.size(key)) ?? 0;
      }
      for (const { request } of await deps.records.turns.listSteps(id)) size.requestBytes += request.bytes;
      size.bytes = kinds.reduce((sum, kind) => sum + size.byKind[kind], 0);
      return size;
    }),
  );
}
