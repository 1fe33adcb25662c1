/** The paths at which a server has this door. They are known before the door is loaded, which happens at its first request. */
export const openAiPlace = { path: "/v1/*", methods: ["GET", "POST", "DELETE"] } as const;
