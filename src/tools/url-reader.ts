/**
 * The contract for reading a web address (I2), for a part of a turn's input.
 *
 * A reader accepts only http and https. It connects to no address that is private, loopback, link-local or otherwise not
 * public, whatever name or redirect leads to it, unless the operator allowed that host. It connects only to an address
 * that it checked. It returns at most `bytesMax` bytes, counted after decompression, within `urlMs`. It throws
 * `url_refused` for an address that may not be read, `input_too_large`, and `url_unavailable` for every other failure.
 */
export interface UrlReader {
  read(url: string, options: { bytesMax: number; signal?: AbortSignal }): Promise<UrlContent>;
}

/** The content of a web address. */
export interface UrlContent {
  content: Uint8Array;
  /** The media type from the server's response, without parameters. Null if the response has none. */
  mediaType: string | null;
}
