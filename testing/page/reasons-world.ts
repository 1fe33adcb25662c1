/** A world with two models, a repository whose code is found, and a turn that left a file out. */
import type { TestContext } from "node:test";
import { sha256 } from "../../src/domain/ids.ts";
import { scriptedProvider, type Script } from "../../src/providers/scripted/scripted.ts";
import { repositoriesOf, type RetrievedChunk, type Retriever } from "../../src/retrieval/retriever.ts";
import { pageWorld, type PageWorld, type PageWorldOptions } from "./page-world.ts";

const code = "export function discounted(total: number): number {\n  return total * 0.9;\n}\n";

function chunkOf(repo: string, path: string): RetrievedChunk {
  const text = `// ${path} of ${repo}\n${code}`;
  return {
    ...{ id: `${repo} ${path}`, repo, path, startLine: 1, endLine: 4, language: "typescript", symbol: "discounted" },
    ...{ text, hash: sha256(text), commit: null, score: 1 },
  };
}

/** Has two repositories. A search with paths finds only what is below them. */
const retriever: Retriever = {
  search: async (query) =>
    repositoriesOf(query)
      .flatMap(({ repo }) => ["src/discount.ts", "data/big.json"].map((path) => chunkOf(repo, path)))
      .filter(({ path }) => query.pathPrefixes?.some((prefix) => path.startsWith(prefix)) ?? path.startsWith("src/")),
  index: () => Promise.reject(new Error("nothing is indexed here")),
  list: async () =>
    ["shop", "store"].map((repo, at) => ({
      ...{ repo, root: `/srv/${repo}`, commit: null, files: 2, chunks: 2 },
      ...{ embedding: { model: "test", dimension: 1 }, indexedAt: 9 - at },
    })),
  close: async () => {},
};

export interface ReasonsWorld extends PageWorld {
  /** Runs a turn about the repository `shop` to its end. */
  run(instruction: string, more?: object): Promise<{ sessionId: string; turnId: string }>;
  /** A file of 140 KB, which is too large to be sent. */
  large: object;
}

/** The models are those of Anthropic, whose prices and windows are known. */
export async function reasonsWorld(
  t: TestContext,
  script?: Script,
  { remembers = false, ...options }: PageWorldOptions = {},
): Promise<ReasonsWorld> {
  const scripted = scriptedProvider({
    name: "anthropic",
    model: "claude-sonnet-5",
    remembers,
    ...(script && { script }),
  });
  const provider = Object.assign(scripted, { contextTokens: () => 200_000 });
  const world = await pageWorld(t, { provider, retrievers: new Map([["local", retriever]]), ...options });
  const { engine, owner } = world;
  return {
    ...world,
    large: {
      activeFiles: [{ path: "data/big.json", content: Buffer.alloc(140_000, "{}"), sha256: null, isTouched: true }],
    },
    run: async (instruction, more = {}) => {
      const turn = await engine.turns.run(owner, { instruction, repo: "shop", ...more });
      await turn.finished;
      return turn;
    },
  };
}
