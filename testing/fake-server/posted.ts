/** Sends requests to a fake and closes it after the test. */
import type { TestContext } from "node:test";

/** A whole answer, read as a text. */
export interface PostedAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Posts a body. A body that is not a text is sent as JSON. */
export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<PostedAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Returns the fake, which is closed after the test. */
export function closedAfter<Fake extends { close(): Promise<void> }>(context: TestContext, fake: Fake): Fake {
  context.after(() => fake.close());
  return fake;
}
