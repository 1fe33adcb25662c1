/** The wire form of a running turn's open questions, and of their answers (V5). */
import { z } from "zod";
import type { ToolCallView } from "../domain/tool.ts";

const callId = z.string().describe("The id of the call.");

const questionSchema = z
  .object({
    callId,
    name: z.string().describe("The name of the tool."),
    args: z.record(z.string(), z.unknown()),
    view: z
      .custom<ToolCallView>()
      .meta({ type: "object" })
      .describe("How to show the call, as in `aptove.tool_call_view`: with the exact command or change."),
  })
  .meta({ id: "Question" });
export const questionsSchema = z.object({ questions: z.array(questionSchema) }).meta({ id: "Questions" });
export type WireQuestions = z.infer<typeof questionsSchema>;

export const questionAnswerSchema = z
  .strictObject({
    callId,
    approved: z.boolean(),
    reason: z.string().exactOptional().describe("Why the call was denied. The model receives it."),
  })
  .meta({ id: "QuestionAnswer" });
export type QuestionAnswer = z.infer<typeof questionAnswerSchema>;

export const answeredQuestionSchema = z.object({ answeredCallId: z.string() }).meta({ id: "AnsweredQuestion" });
