/** Each session as a resource: `aptove://sessions/{id}`, its newest turns as Markdown. */
import { ProtocolError, ProtocolErrorCode, ResourceTemplate, type McpServer } from "@modelcontextprotocol/server";
import { AptoveApiError, type AptoveClient } from "../../client/client.ts";
import { isId } from "../../domain/ids.ts";
import { conversationPage, turnsText } from "./conversation-text.ts";
import { answerCharactersMax, shortened } from "./tool-answer.ts";

const mimeType = "text/markdown";
const listedMax = 50;
const turnsMax = 50;

export function addSessionResources(server: McpServer, client: AptoveClient): void {
  const list = async () => {
    const { sessions } = await client.sessions.list({ limit: listedMax });
    const resources = sessions.map(({ id, name, turnCount, activeAt }) => ({
      uri: `aptove://sessions/${id}`,
      name: name || id,
      // Without a title of its own, a resource has that of the template.
      title: name || id,
      description: `${turnsText(turnCount)}, last active ${activeAt}`,
      mimeType,
    }));
    return { resources };
  };
  server.registerResource(
    "session",
    new ResourceTemplate("aptove://sessions/{id}", { list }),
    { title: "Session", description: "The newest turns of a session as Markdown.", mimeType },
    async (uri, { id }) => {
      if (typeof id !== "string" || !isId(id)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, "invalid: the address has no id of a session");
      }
      try {
        const { text } = await conversationPage(client, id, { limit: turnsMax });
        return { contents: [{ uri: uri.href, mimeType, text: shortened(text, answerCharactersMax) }] };
      } catch (error) {
        if (!(error instanceof AptoveApiError)) throw error;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${error.code}: ${error.message}`);
      }
    },
  );
}
