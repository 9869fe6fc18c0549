import type { Migration } from "./migration.ts";

/** At most one row: which cluster's repositories are listed, and when they were last compared with its store. Times are the database's. */
export const reconciliation: Migration = {
  version: 2,
  name: "reconciliation",
  sql: `
    CREATE TABLE gitaly.reconciliation (
      singleton boolean PRIMARY KEY CHECK (singleton),
      cluster_id text NOT NULL,
      holder text NOT NULL,
      held_until timestamptz NOT NULL,
      started_at timestamptz NOT NULL,
      finished_at timestamptz
    );
  `,
};
