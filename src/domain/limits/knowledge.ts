/** The limits of what a turn knows beside its history: rules, place, indexes and what they find. */
export const knowledgeLimits = {
  /** C4: the newest summaries of a session that are looked at when its history must be shortened. */
  storedSummariesLookedAt: 20,
  /** U4: the files that a part of a path finds. */
  matchedPathsMax: 20,
  /** M1: the files with rules of a repository, and the texts of one and of all of them. A longer text is cut. */
  rulesFilesMax: 32,
  rulesFileBytesMax: 32_768,
  rulesBytesMax: 65_536,
  /** M2: the modified files that the model receives by name, and one name, path or word of the place. */
  placeFilesMax: 30,
  placeWordCharactersMax: 500,
  /**
   * M6: the pins of a session, the tokens that their passages may have, also as a share of the model's window, and what is
   * counted for the lines around one of them.
   */
  pinsPerSessionMax: 32,
  pinsTokensMax: 16_000,
  pinsWindowShareMax: 0.125,
  /** The share of the room of a request that they may have when the history is summarised. */
  pinsRoomShareMax: 0.25,
  pinFrameTokens: 20,
  /** U5: the turns of a session that have a name, and the name. */
  turnNamesPerSessionMax: 200,
  turnNameCharactersMax: 80,
  /** M6: what one call of `read_turn` returns, and the ranges of turns that are named beside a summary one by one. */
  turnPieceCharactersMax: 16_384,
  unnamedRangesMax: 40,
  /** M3: the text of a fact, the facts of a workspace, the tokens of facts of one message, and the size of the file of a fact. */
  factBytesMax: 4_096,
  factsPerWorkspaceMax: 1_000,
  factsTokensMax: 1_000,
  factFileBytesMax: 16_384,
  /** Q3: the chunks that a search returns, and those that are sent: as many as fit into the tokens. */
  retrievalCandidatesMax: 60,
  retrievalChunksMax: 24,
  retrievalTokensMax: 4_000,
  /** Q3: the chunks that are sent of the best file, of the second one, and of each further one. */
  retrievalChunksOfBestFileMax: 4,
  retrievalChunksOfSecondFileMax: 2,
  retrievalChunksOfOtherFileMax: 1,
  /** Q1: the size of an indexed file. A larger one is counted as skipped. */
  indexedFileBytesMax: 1_048_576,
  chunkLinesMax: 80,
  chunkCharactersMax: 6_000,
  /** Small neighbouring pieces of a file become one chunk up to this size. */
  chunkMergeCharactersMax: 1_500,
  /** The time to parse a file. A file that takes longer is split by lines. */
  parseMsMax: 2_000,
  /** The part of a question that is searched for. A longer question is cut in its middle. */
  questionCharactersMax: 8_000,
  /** M8: the texts of a turn's long documents that are searched, and those that a process keeps split between two questions. */
  documentsBytesMax: 10_485_760,
  documentCacheCharactersMax: 16_777_216,
  /** M8: the share of the model's window above which a document counts as too long to be sent whole. */
  documentWindowShareMax: 0.4,
  /** B4: how long an indexing run waits for another one that holds the index. */
  indexWaitMsMax: 60_000,
  indexBusyMsMax: 5_000,
  /** Q2: how long a question waits until the index is up to date. In a larger repository only a new commit is looked for. */
  indexRefreshMsMax: 1_000,
  indexRefreshFilesMax: 5_000,
  /** Q2: how often a run writes down how far it is. */
  indexNotedMs: 250,
  /**
   * Q2: the lease of an indexing run on an index in Qdrant. If the run is silent for so long, the next run takes over.
   */
  indexLeaseMs: 15_000,
  /** The unfinished runs whose points every search excludes. The points of older ones are deleted. */
  indexVoidRunsMax: 64,
  /**
   * Q5: the time for one request to Qdrant, the attempts of an indexing run, and the pause before the second attempt,
   * which doubles.
   */
  qdrantRequestMsMax: 10_000,
  qdrantAttemptsMax: 4,
  qdrantBackoffMs: 250,
  qdrantReleaseMsMax: 2_000,
  /** The recently searched indexes whose current generation is cached. */
  manifestsKept: 256,
  indexJournalBytesMax: 67_108_864,
  /** The vectors of recently searched repositories in memory. The one that is being searched is always kept. */
  vectorCacheBytesMax: 536_870_912,
} as const;
