import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import pg from "pg";
import { startPostgres } from "./postgres.ts";

test("[B2] if the system has no PostgreSQL, the npm package provides one, and nothing of it is left behind", async (context) => {
  const server = await startPostgres({ from: "package" });
  context.after(() => server.stop());
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<{ folder: string; addresses: string }>(
    "select current_setting('data_directory') as folder, current_setting('listen_addresses') as addresses",
  );
  await client.end();
  const { folder, addresses } = rows[0] ?? assert.fail("the server does not answer");
  assert.equal(addresses, "", "it is reached by its socket only");
  assert.ok(existsSync(folder));
  await server.stop();
  assert.equal(existsSync(folder), false);
});
