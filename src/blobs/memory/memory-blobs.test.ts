import { blobStoreSuite } from "../blob-store.suite.ts";
import { compressedBlobs } from "../compressed-blobs.ts";
import { memoryBlobs } from "./memory-blobs.ts";

blobStoreSuite("blobs in memory", () => ({ store: memoryBlobs(), reopen: null }));
blobStoreSuite("blobs in memory, compressed", () => ({ store: compressedBlobs(memoryBlobs()), reopen: null }));
