import assert from "node:assert/strict";
import { test } from "node:test";
import { places, plant } from "./planted.ts";
import { checkWalls } from "./walls.ts";

/** What the check says of one file that holds one line. */
const cases: { path: string; line: string; rule: string | null }[] = [
  { path: "src/domain/turn.ts", line: `import { a } from "./session.ts";`, rule: null },
  { path: "src/domain/turn.ts", line: `import type { A } from "../engine/engine.ts";`, rule: "import" },
  { path: "src/domain/turn.ts", line: `import { join } from "node:path";`, rule: "node" },
  { path: "src/domain/turn.ts", line: `import { createHash } from "node:crypto";`, rule: "node" },
  { path: "src/domain/ids.ts", line: `import { createHash } from "node:crypto";`, rule: null },
  { path: "src/domain/turn.ts", line: `import { z } from "zod";`, rule: "package" },
  { path: "src/domain/turn.ts", line: `export * from "../records/record-store.ts";`, rule: "import" },
  { path: "src/domain/turn.ts", line: `type A = import("../records/record-store.ts").A;`, rule: "import" },
  { path: "src/records/record-store.ts", line: `import type { A } from "../domain/turn.ts";`, rule: null },
  { path: "src/records/record-store.ts", line: `import { a } from "./sql/sqlite.ts";`, rule: "import" },
  { path: "src/records/sql/sqlite.ts", line: `import { a } from "../record-store.ts";`, rule: null },
  { path: "src/records/sql/sqlite.ts", line: `import { a } from "./migrations.ts";`, rule: null },
  { path: "src/records/sql/sqlite.ts", line: `import { a } from "better-sqlite3";`, rule: null },
  { path: "src/records/sql/sqlite.ts", line: `import { a } from "../memory/memory.ts";`, rule: "import" },
  { path: "src/records/sql/sqlite.ts", line: `import { a } from "../../blobs/blob-store.ts";`, rule: "import" },
  { path: "src/retrieval/local/index.ts", line: `import { a } from "../chunking/chunk.ts";`, rule: null },
  { path: "src/engine/run-turn.ts", line: `import { a } from "../records/record-store.ts";`, rule: null },
  { path: "src/engine/run-turn.ts", line: `import { a } from "../records/memory/memory.ts";`, rule: "import" },
  { path: "src/engine/run-turn.ts", line: `import { a } from "../protocol/execute.ts";`, rule: "import" },
  { path: "src/engine/run-turn.ts", line: `import { a } from "kysely";`, rule: "package" },
  { path: "src/engine/run-turn.ts", line: `import { z } from "zod";`, rule: "package" },
  { path: "src/engine/transfer/schema.ts", line: `import { z } from "zod";`, rule: null },
  { path: "src/engine/transfer/schema.ts", line: `import { a } from "kysely";`, rule: "package" },
  { path: "src/engine/run-turn.ts", line: `await import("../providers/openai" + "x.ts");`, rule: "computed" },
  { path: "src/engine/run-turn.ts", line: `await import("../providers/openai/openai.ts");`, rule: "import" },
  { path: "src/engine/turn/request/envelope.ts", line: `import { a } from "node:zlib";`, rule: "node" },
  { path: "src/engine/turn/run-turn.ts", line: `import { a } from "../../system/bounded-cache.ts";`, rule: null },
  { path: "src/engine/turn/run-turn.ts", line: `import { a } from "../../system/git.ts";`, rule: "import" },
  { path: "src/system/bounded-cache.ts", line: `import { a } from "node:fs";`, rule: "node" },
  { path: "src/system/durable.ts", line: `import { a } from "node:fs";`, rule: null },
  { path: "src/system/durable.ts", line: `import { a } from "../domain/errors.ts";`, rule: "import" },
  { path: "src/domain/turn.ts", line: `import { a } from "../system/durable.ts";`, rule: "import" },
  { path: "src/blobs/files/blobs.ts", line: `import { a } from "../../system/durable.ts";`, rule: null },
  { path: "src/configuration/layers.ts", line: `import { a } from "../workspace/folder.ts";`, rule: "import" },
  { path: "src/configuration/layers.ts", line: `import { a } from "../system/durable.ts";`, rule: null },
  { path: "src/protocol/execute.ts", line: `import { a } from "../engine/engine.ts";`, rule: "import" },
  { path: "src/client/client.ts", line: `import { a } from "../protocol/execute.ts";`, rule: null },
  { path: "src/client/client.ts", line: `import { a } from "../domain/turn.ts";`, rule: "import" },
  { path: "src/doors/http/server.ts", line: `import { a } from "../../engine/engine.ts";`, rule: null },
  { path: "src/doors/http/server.ts", line: `import { a } from "../../engine/run-turn.ts";`, rule: "import" },
  { path: "src/doors/http/server.ts", line: `import { a } from "../cli/main.ts";`, rule: "import" },
  { path: "src/doors/http/server.ts", line: `import { a } from "../../client/client.ts";`, rule: "import" },
  { path: "src/doors/http/server.ts", line: `import { a } from "../../records/record-store.ts";`, rule: "import" },
  { path: "src/doors/http/server.ts", line: `import { a } from "../../compose.ts";`, rule: "import" },
  { path: "src/doors/cli/ask.ts", line: `import { a } from "../../client/client.ts";`, rule: null },
  { path: "src/doors/cli/ask.ts", line: `import { a } from "../../workspace/folder.ts";`, rule: null },
  { path: "src/doors/cli/ask.ts", line: `import { a } from "../../workspace/transcript/format.ts";`, rule: null },
  { path: "src/doors/cli/ask.ts", line: `import { a } from "../../workspace/files/bindings.ts";`, rule: "import" },
  { path: "src/workspace/folder.ts", line: `import { a } from "./files/bindings.ts";`, rule: "import" },
  { path: "src/workspace/files/bindings.ts", line: `import { a } from "../memory/bindings.ts";`, rule: "import" },
  { path: "src/main.ts", line: `import { a } from "./compose.ts";`, rule: null },
  { path: "src/main.ts", line: `import { a } from "./doors/cli/cli.ts";`, rule: null },
  { path: "src/main.ts", line: `import { a } from "./records/sql/sqlite.ts";`, rule: "import" },
  { path: "src/main.ts", line: `import { a } from "./version.ts";`, rule: null },
  { path: "src/version.ts", line: `import { a } from "./engine/engine.ts";`, rule: "import" },
  { path: "src/doors/http/server.ts", line: `import { a } from "../../version.ts";`, rule: "import" },
  { path: "src/index.ts", line: `import { a } from "./compose.ts";`, rule: null },
  { path: "src/compose.ts", line: `import { a } from "./records/sql/sqlite.ts";`, rule: null },
  { path: "src/compose.ts", line: `import { a } from "../testing/fake.ts";`, rule: "outside" },
  { path: "src/engine/version.ts", line: `import a from "../../package.json" with { type: "json" };`, rule: null },
  { path: "src/doors/http/server.test.ts", line: `import { a } from "../../compose.ts";`, rule: null },
  { path: "web/app.ts", line: `import { a } from "../src/client/client.ts";`, rule: null },
  { path: "web/app.ts", line: `import { a } from "../src/domain/turn.ts";`, rule: "import" },
  { path: "bench/turn.ts", line: `import { a } from "../src/compose.ts";`, rule: null },
];

for (const { path, line, rule } of cases) {
  test(`${path}: ${line} ${rule === null ? "may" : "may not"}`, (context) => {
    const findings = checkWalls(plant(context, { [path]: `// The line below is looked at.\n${line}\n` }));
    assert.deepEqual(places(findings), rule === null ? [] : [`${path}:2 walls/${rule}`]);
  });
}
