/**
 * The walls: which folder may import which. The table is the architecture's; type-only imports count,
 * because a type from behind a wall is knowledge from behind it.
 */
import { posix } from "node:path";
import { Visitor } from "oxc-parser";
import type { Finding } from "./finding.ts";
import { lineAt, type SourceFile, type Tree } from "./tree.ts";

/** Folders with a contract at the head and drivers, or doors, in folders beneath. */
const areas = [
  "identity",
  "records",
  "blobs",
  "providers",
  "retrieval",
  "live",
  "tools",
  "workspace",
  "telemetry",
  "doors",
];

/** Folders that belong to the head of their area: its suite, and what all of its drivers share. */
const headFolders = /^src\/(?:\w+\/suite|retrieval\/(?:chunking|ranking)|workspace\/transcript)\//;

/**
 * The zone of a source file. `records` is the contract's level, `records/sql` a driver; `engine.ts` with its
 * `api/` is `engine-api`, what doors may see of the engine; `engine/turn/request` is `engine-request`, which is pure;
 * `pure-system` is the part of `system` that touches no operating system; everything outside src is `outside`.
 */
function zoneOf(path: string): string {
  const [top, first, second, third] = path.split("/");
  if (top === "web") return "web";
  if (top !== "src" || first === undefined) return "outside";
  if (second === undefined) return rootZones[first] ?? "root";
  if (areas.includes(first)) return third === undefined || headFolders.test(path) ? first : `${first}/${second}`;
  if (path === "src/engine/engine.ts" || path.startsWith("src/engine/api/")) return "engine-api";
  if (pureSystem.includes(path)) return "pure-system";
  return path.startsWith("src/engine/turn/request/") ? "engine-request" : first;
}

/** Files of the ground floor that the engine may use too: they compute, and touch nothing outside the process. */
const pureSystem = [
  "abort",
  "bounded-cache",
  "canonical-json",
  "shared-ends",
  "rounds",
  "guards",
  "opened-once",
  "apart",
  "repeated-fault",
  "secret-forms",
].map((name) => `src/system/${name}.ts`);

/** Files at the top of src; any other stands on nothing, and only what puts the parts together may use it. */
const rootZones: Record<string, string> = {
  "compose.ts": "compose",
  "main.ts": "main",
  "index.ts": "entry",
  "testing.ts": "entry",
  "node-version.ts": "entry",
};

const contracts = ["identity", "records", "blobs", "providers", "retrieval", "live", "tools", "telemetry"];

/** What a zone may import beside itself. `*`: everything. A driver also has the level above it. */
const floor = ["domain", "system", "pure-system"];
const beneathDoors = [
  "engine-api",
  "protocol",
  "workspace",
  "configuration",
  "working-copy",
  "foreign",
  "inspection",
  "tools",
  "telemetry",
  ...floor,
];
const mayImport: Record<string, readonly string[]> = {
  domain: [],
  system: ["pure-system"],
  "pure-system": [],
  contract: floor,
  driver: floor,
  workspace: floor,
  configuration: floor,
  "working-copy": floor,
  foreign: floor,
  inspection: [...floor, "configuration"],
  embedded: [...floor, "blobs", "records", "records/sql"],
  "engine-api": ["domain", ...contracts],
  engine: ["domain", "pure-system", ...contracts, "engine-api", "engine-request"],
  "engine-request": ["domain", "pure-system", ...contracts],
  protocol: ["domain"],
  client: ["protocol"],
  doors: beneathDoors,
  door: beneathDoors,
  "doors/cli": [...beneathDoors, "client"],
  "doors/mcp": [...beneathDoors, "client"],
  web: ["protocol", "client"],
  root: [],
  main: ["compose", "root", "client", ...beneathDoors, "doors", "door", "doors/cli"],
  compose: ["*"],
  entry: ["*"],
  outside: ["*"],
};

/** Zones that run anywhere, or must stay pure: no `node:` module but the ones named here by file. */
const withoutNode = ["domain", "pure-system", "engine-request", "protocol", "client", "web"];
const nodeModuleAllowed: Record<string, string> = {
  "src/domain/ids.ts": "node:crypto",
  "src/system/apart.ts": "node:async_hooks",
};
/** Zones that stand on the language alone: no package either. */
const withoutPackages = ["domain", "pure-system", "engine", "engine-api", "engine-request"];
/**
 * A room of such a zone that is an edge may use one package. The engine reads an export file itself: an import must refuse
 * what is wrong with it at every door, and its blobs have the forms that only the engine knows. What a program gives to the library
 * is checked there too, and a wrong name is compared as at every other edge.
 */
const packageAllowed: Record<string, string> = {
  "src/engine/transfer/": "zod",
  "src/domain/given-fields.ts": "fastest-levenshtein",
};

/** The rooms of the engine by level, from the top down. A room uses only rooms of the levels below it. */
const levels = [
  ["people"],
  ["sessions", "transfer", "explain", "subagents", "summaries", "operations"],
  ["turn"],
  ["turn/run", "turn/end"],
  ["turn/live"],
  ["turn/prepare"],
  ["turn/kept"],
  ["turn/request"],
  ["contexts"],
  ["access"],
];

/** Returns the room of a file of the engine. Empty for what stands beside the rooms, and null outside of the engine. */
function roomOf(path: string): string | null {
  const [src, engine, first = "", second = "", third] = path.split("/");
  if (src !== "src" || engine !== "engine") return null;
  if (second === "") return "";
  return first === "turn" && third !== undefined ? `turn/${second}` : first;
}

/** Returns the room that may not be used, and null if all is well. */
function roomAbove(from: string, to: string): string | null {
  const [user, used] = [roomOf(from), roomOf(to)];
  if (user === null || user === "" || used === null || user === used) return null;
  if (zoneOf(to) === "engine-api" || to === "src/engine/dependencies.ts") return null;
  const levelOf = (room: string): number => levels.findIndex((rooms) => rooms.includes(room));
  return levelOf(user) !== -1 && levelOf(user) < levelOf(used) ? null : used;
}

function kindOf(zone: string): string {
  if (zone in mayImport) return zone;
  if (zone.startsWith("doors/")) return "door";
  if (zone.includes("/")) return "driver";
  return contracts.includes(zone) ? "contract" : zone;
}

function isAllowed(from: string, to: string): boolean {
  if (from === to) return true;
  const allowed = mayImport[kindOf(from)];
  if (allowed === undefined) return false;
  if (allowed.includes("*") || allowed.includes(to) || allowed.includes(kindOf(to))) return true;
  return from.startsWith(`${to}/`) && areas.includes(to);
}

export function checkWalls(tree: Tree): Finding[] {
  return tree.sources.flatMap((file) => importsOf(file).flatMap((found) => importFault(file, found) ?? []));
}

interface Import {
  specifier: string;
  offset: number;
}

/** Every import of a file: statements, re-exports, `import()` and types written as `import("x").Y`. */
function importsOf(file: SourceFile): Import[] {
  const imports = file.module.staticImports.map(({ moduleRequest: { value, start } }) => ({
    specifier: value,
    offset: start,
  }));
  for (const { moduleRequest } of file.module.staticExports.flatMap((statement) => statement.entries)) {
    if (moduleRequest !== null) imports.push({ specifier: moduleRequest.value, offset: moduleRequest.start });
  }
  new Visitor({
    ImportExpression({ source }) {
      const isLiteral = source.type === "Literal" && typeof source.value === "string";
      imports.push({ specifier: isLiteral ? source.value : "", offset: source.start });
    },
    TSImportType({ source }) {
      imports.push({ specifier: source.value, offset: source.start });
    },
  }).visit(file.program);
  return imports;
}

function importFault(file: SourceFile, { specifier, offset }: Import): Finding | null {
  const zone = zoneOf(file.path);
  // Tests put parts together, so they see everything; so does what is outside the product.
  if (file.isTest || zone === "outside") return null;
  const finding = (rule: string, message: string, fix: string): Finding => {
    return { file: file.path, line: lineAt(file.text, offset), rule: `walls/${rule}`, message, fix: fix };
  };
  if (specifier === "") return finding("computed", "imports a computed path", "write the path out");
  if (specifier.startsWith(".")) {
    const target = posix.join(posix.dirname(file.path), specifier);
    const to = zoneOf(target);
    if (target === "package.json") return null;
    if (to === "outside" && zone !== "entry") {
      return finding("outside", `imports ${target}`, "the product must not need its own test or build code");
    }
    const above = roomAbove(file.path, target);
    if (above !== null) {
      const fix = "move the code down, or give the room its level in scripts/check/walls.ts";
      return finding("room", `${roomOf(file.path)} imports ${target}, which is not below it`, fix);
    }
    if (isAllowed(zone, to)) return null;
    return finding("import", `${zone} imports ${target}`, `it may import ${allowedText(zone)}`);
  }
  if (specifier.startsWith("node:")) {
    if (!withoutNode.includes(zone) || nodeModuleAllowed[file.path] === specifier) return null;
    return finding("node", `${zone} imports ${specifier}`, "pass the value in, or move the code behind a contract");
  }
  if (!withoutPackages.includes(zone) || isPackageAllowed(file.path, specifier)) return null;
  return finding("package", `${zone} imports the package ${specifier}`, "put it behind a contract");
}

function isPackageAllowed(path: string, specifier: string): boolean {
  return Object.entries(packageAllowed).some(([room, name]) => path.startsWith(room) && specifier === name);
}

function allowedText(zone: string): string {
  const above = zone.includes("/") ? [zone.split("/")[0] ?? ""] : [];
  const allowed = [...(mayImport[kindOf(zone)] ?? []), ...above];
  return allowed.length === 0 ? "nothing" : allowed.join(", ");
}
