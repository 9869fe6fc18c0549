import { startEmbeddedPostgres } from "../../src/catalog/index.ts";

// A node reduced to its database: attaches, prints the URL, leaves in order when a line comes.
const embedded = await startEmbeddedPostgres({ dir: process.argv[2] ?? "" });
process.stdout.write(`${embedded.url()}\n`);
await new Promise((resolve) => process.stdin.once("data", resolve));
await embedded[Symbol.asyncDispose]();
process.exit(0);
