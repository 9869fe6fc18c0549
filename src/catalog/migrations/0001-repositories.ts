import type { Migration } from "./migration.ts";

/** The table of repositories. A row of a removed one stays, so that a late note of an older state cannot bring it back. */
export const repositories: Migration = {
  version: 1,
  name: "repositories",
  sql: `
    CREATE TABLE gitaly.repositories (
      path text COLLATE "C" PRIMARY KEY,
      repo_id text NOT NULL,
      object_format text NOT NULL,
      head bytea NOT NULL,
      generation bigint NOT NULL,
      size_bytes bigint NOT NULL,
      ref_count bigint NOT NULL,
      pack_count bigint NOT NULL,
      replicas integer NOT NULL,
      created_at_ms bigint NOT NULL,
      updated_at_ms bigint NOT NULL,
      removed boolean NOT NULL
    );
  `,
};
