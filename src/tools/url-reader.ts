/**
 * The contract for reading an address of the web (I2), for a part of a turn's input.
 *
 * What a reader must do: it takes http and https only. It connects to no address that is private, loopback, link-local or
 * otherwise not of the public net, whatever name leads there, at first or by a redirect, unless the operator allowed that
 * host. What it checked is what it connects to. It gives at most `bytesMax`, counted after decompression, within
 * `urlMs`. It throws `url_refused` for what may not be read, `input_too_large`, and `url_unavailable` for what fails.
 */
export interface UrlReader {
  read(url: string, options: { bytesMax: number; signal?: AbortSignal }): Promise<ReadUrl>;
}

export interface ReadUrl {
  content: Uint8Array;
  /** As the server says it, without parameters; null: it does not. */
  mediaType: string | null;
}
