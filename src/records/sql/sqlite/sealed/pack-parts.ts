/** What the two parts of a pack have beside them: the words, the row, and the earlier turn. Reader and writer must not differ. */
import type { ContentText, SeedBlobs } from "./content-row.ts";
import { allForms, asBytes, withTextsOf, wordsOf } from "./content-texts.ts";
import type { Around, Part } from "./parts.ts";

export interface PackSurroundings {
  /** The words of the turn. */
  text: ContentText;
  /** The row of the turn. */
  row: Part;
  /** The parts of the earlier turn. Null: there is none, or it has no blobs. */
  seed: SeedBlobs | null;
}

export function aroundState({ text, seed }: Omit<PackSurroundings, "row">): Around {
  const words = wordsOf(text);
  return {
    before: [...(seed === null ? [] : [seed.state.short]), asBytes(words.once)],
    texts: allForms(words),
    values: [],
    seedValues: seed?.state.values ?? [],
  };
}

export function aroundOthers({ text, row, seed }: PackSurroundings, ownState: Part): Around {
  const words = wordsOf(text);
  return {
    before: [...(seed === null ? [] : [seed.others.short]), row.short, ownState.short, asBytes(words.twice)],
    texts: allForms(withTextsOf(words, ownState.bytes)),
    values: [...row.values, ...ownState.values],
    seedValues: seed?.others.values ?? [],
  };
}
