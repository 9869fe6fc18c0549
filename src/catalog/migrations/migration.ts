/** One step of the schema. Never changed once released; a later step corrects an earlier one. */
export interface Migration {
  /** 1 for the first; no gaps. */
  readonly version: number;
  readonly name: string;
  /** One or more statements without parameters. */
  readonly sql: string;
}
