/** The paths at which a server has this door. They are known before the door is loaded, which happens at its first request. */
export const acpPlace = { path: "/acp", methods: ["POST", "GET", "DELETE"] } as const;
