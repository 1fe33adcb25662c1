/** API keys in memory. */
import type { KeyHolder, KeyRecords } from "../keys.ts";
import { pageOf } from "./people.ts";
import { insert, type Rows } from "./rows.ts";

export function keyRecords(rows: Rows): KeyRecords {
  return {
    async insert(key) {
      insert(rows.keys, key.id, key);
    },
    async get(id) {
      return rows.keys.get(id) ?? null;
    },
    async find(hashes) {
      return findKeys(rows, hashes);
    },
    async list({ orgId, userId, ofDevices, unrevoked, ...page }) {
      const keys = [...rows.keys.values()]
        .filter((key) => key.orgId === orgId && (userId === undefined || key.userId === userId))
        .filter((key) => ofDevices === undefined || ofDevices === (key.deviceId !== null))
        .filter((key) => unrevoked !== true || key.revokedAt === null);
      return pageOf(keys, page);
    },
    async update({ orgId, id }, patch) {
      const key = rows.keys.get(id);
      if (key?.orgId !== orgId || (patch.revokedAt !== undefined && key.revokedAt !== null)) return false;
      rows.keys.set(id, { ...key, ...patch });
      return true;
    },
  };
}

function findKeys(rows: Rows, hashes: readonly string[]): KeyHolder[] {
  return [...rows.keys.values()].flatMap((key) => {
    const user = rows.users.get(key.userId);
    if (user === undefined || !hashes.includes(key.hash)) return [];
    return [{ key, user, org: rows.orgs.get(user.orgId) ?? null }];
  });
}
