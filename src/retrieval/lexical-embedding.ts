/**
 * The built-in embedding needs no key, no network and no download (Q6). It hashes the terms of a text and their trigrams into a
 * fixed number of dimensions with random signs, so that texts with the same or similar words are close together. It knows no
 * meaning: `car` and `vehicle` are unrelated.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { normalize, type Embedder } from "./embedding.ts";
import { isStopTerm, stem, termsOf } from "./terms.ts";

const dimension = 256;
/** The number of texts that are embedded before other work of the process runs. */
const textsPerSlice = 32;
/** The weight of all trigrams of a term together. A term weighs 1; trigrams are fuzzy evidence. */
const trigramWeight = 0.5;
/** The first lines of an embedded chunk are its path and symbol, which show its topic. */
const headLines = 2;
const headWeight = 3;

export function lexicalEmbedder(): Embedder {
  return {
    model: "aptove-lexical-1",
    dimension,
    rankWeight: 0.5,
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        if (vectors.length % textsPerSlice === 0) await nextTurn();
        signal?.throwIfAborted();
        vectors.push(embedText(text));
      }
      return vectors;
    },
  };
}

function embedText(text: string): Float32Array {
  const counts = new Map<string, number>();
  const bodyStart = endOfLine(text, headLines);
  countTerms(counts, text.slice(0, bodyStart), headWeight);
  countTerms(counts, text.slice(bodyStart), 1);
  const vector = new Float32Array(dimension);
  for (const [term, count] of counts) {
    // The tenth use of a word adds little to the first.
    const weight = (1 + Math.log(count)) * rarity(term);
    addFeatures(vector, featuresOf(term), weight);
  }
  return normalize(vector);
}

function countTerms(counts: Map<string, number>, text: string, weight: number): void {
  for (const term of termsOf(text)) {
    if (!isStopTerm(term) && !codeTerms.has(term)) counts.set(term, (counts.get(term) ?? 0) + weight);
  }
}

/** Returns the position at which the given number of lines ends. */
function endOfLine(text: string, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const end = text.indexOf("\n", at);
    if (end === -1) return text.length;
    at = end + 1;
  }
  return at;
}

/** Estimates how rare a term is, without a corpus: long words are rare, and rare words are more specific. */
function rarity(term: string): number {
  return Math.min(1.6, 0.4 + term.length / 8);
}

/** Adds a term and its trigrams to the vector. `features` has the term first, its trigrams after it. */
function addFeatures(vector: Float32Array, features: Int16Array, weight: number): void {
  const ofTrigram = (weight * trigramWeight) / Math.sqrt(Math.max(1, features.length - 1));
  let value = weight;
  for (const at of features) {
    const index = at < 0 ? ~at : at;
    vector[index] = (vector[index] ?? 0) + (at < 0 ? -value : value);
    value = ofTrigram;
  }
}

/** The cache of features by term. It is emptied when full, so that it cannot grow without bound. */
const featuresByTerm = new Map<string, Int16Array>();
const featuresByTermMax = 65_536;

/** Returns where the term and its trigrams count in the vector: an index to add at, or its complement to subtract. */
function featuresOf(term: string): Int16Array {
  const known = featuresByTerm.get(term);
  if (known !== undefined) return known;
  // A term of one letter is its own trigram.
  const features = new Int16Array(term.length < 2 ? 1 : 1 + term.length);
  const framed = `^${term}$`;
  features[0] = feature(hashOf(framed, 0, framed.length));
  for (let at = 1; at < features.length; at += 1) features[at] = feature(hashOf(framed, at - 1, at + 2));
  if (featuresByTerm.size >= featuresByTermMax) featuresByTerm.clear();
  featuresByTerm.set(term, features);
  return features;
}

function feature(hash: number): number {
  const index = hash % dimension;
  return (hash & 0x8000_0000) === 0 ? index : ~index;
}

/** Returns the FNV-1a hash of a part's UTF-16 code units. A final mix follows, because for short texts the low bits alone are too regular. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c_9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85eb_ca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Keywords of programming languages. They are in every chunk and do not show its topic. */
const codeTerms = new Set(
  `any array async await bool boolean break case catch class const continue def default do elif else end enum error except
export extends false final finally fn for from func function if implements import in instanceof int interface internal
keyof let map match mut namespace never new nil none null number object of override package partial private promise
protected pub public raise readonly record ref return self set static str string struct super switch this throw throws
true try type typeof undefined unknown use var void while with yield`
    .split(/\s+/)
    .map(stem),
);
