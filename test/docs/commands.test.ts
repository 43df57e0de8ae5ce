import { describeDocument, documents } from "./document.ts";

/** The longest ones have files of their own, so that workers share the time. */
const apart = ["docs/cli.md", "docs/history.md", "docs/workflow.md"];

for (const document of documents) if (!apart.includes(document)) describeDocument(document);
