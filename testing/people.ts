/** Orgs and people for tests, written directly to the records. */
import type { Role, User } from "../src/domain/caller.ts";
import { newId } from "../src/domain/ids.ts";
import type { RecordStore } from "../src/records/record-store.ts";

/** Adds a user, and the org if it does not exist. */
export async function addUser(
  records: RecordStore,
  { role, ...more }: Partial<User> & { orgId: string; role: Role },
): Promise<User> {
  const { orgId } = more;
  const createdAt = Date.now();
  if ((await records.people.getOrg(orgId)) === null) {
    await records.people.insertOrg({ id: orgId, name: "a team", createdAt, suspendedAt: null });
  }
  const unknown = { email: null, externalId: null, disabledAt: null };
  const user: User = { id: newId(), name: role, role, createdAt, ...unknown, ...more };
  await records.people.insertUser(user);
  return user;
}
