/** Plain BM25 over whole files: what retrieval has to beat. It sees the same files, by the same words. */
import { filesOf } from "../../src/retrieval/commit-files.ts";
import { readSource } from "../../src/retrieval/indexed-files.ts";
import { questionTerms, termsOf } from "../../src/retrieval/terms.ts";
import { limits } from "../../src/domain/limits.ts";

interface FileTerms {
  counts: Map<string, number>;
  length: number;
}

const bm25 = { k: 1.2, b: 0.75 };

export class FileBm25 {
  /** The terms of each object in git, because most files are the same in the next tree. Null: not text. */
  readonly #known = new Map<string, FileTerms | null>();

  /** Returns the paths of the tree, best first. */
  async rank(root: string, commit: string, question: string): Promise<string[]> {
    const files = await this.#files(root, commit);
    const mean = files.reduce((sum, { length }) => sum + length, 0) / Math.max(1, files.length);
    const scores = new Float64Array(files.length);
    for (const term of questionTerms(question)) {
      const having = files.filter(({ counts }) => counts.has(term)).length;
      const idf = Math.log(1 + (files.length - having + 0.5) / (having + 0.5));
      for (const [at, { counts, length }] of files.entries()) {
        const count = counts.get(term) ?? 0;
        const score = (idf * count * (bm25.k + 1)) / (count + bm25.k * (1 - bm25.b + (bm25.b * length) / mean));
        scores[at] = (scores[at] ?? 0) + score;
      }
    }
    const ranked = files.map(({ path }, at) => ({ path, score: scores[at] ?? 0 }));
    return ranked
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .map(({ path }) => path);
  }

  async #files(root: string, commit: string): Promise<(FileTerms & { path: string })[]> {
    const tree = await filesOf({ root, orgId: "", repo: "", commit }, new AbortController().signal);
    try {
      const found: (FileTerms & { path: string })[] = [];
      for (const path of tree.paths) {
        const facts = tree.stat(path);
        if (facts === null || facts.sizeBytes > limits.indexedFileBytesMax) continue;
        let terms = this.#known.get(facts.stamp);
        if (terms === undefined) this.#known.set(facts.stamp, (terms = readTerms(path, await tree.read(path))));
        if (terms !== null) found.push({ path, ...terms });
      }
      return found;
    } finally {
      tree.close();
    }
  }
}

function readTerms(path: string, content: Uint8Array | null): FileTerms | null {
  const source = content === null ? null : readSource(path, content);
  if (source === null || !("text" in source)) return null;
  const counts = new Map<string, number>();
  const terms = termsOf(source.text);
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return { counts, length: terms.length };
}
