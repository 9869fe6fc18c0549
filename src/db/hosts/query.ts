/** Parameters of a statement: `$1` is the first. */
export type Values = readonly unknown[] | undefined;

/** One statement's outcome, as the driver gives it. */
export interface QueryResult<R = Record<string, unknown>> {
  readonly rows: R[];
  /** Null for statements that count no rows. */
  readonly rowCount: number | null;
  readonly command: string;
}

/** How a statement uses a connection that is not its caller's. */
export interface ConnectionUse {
  /** The connection is closed afterwards. */
  readonly discard: boolean;
  /** Where its text runs often, the server may keep it prepared. */
  readonly prepare: boolean;
}
